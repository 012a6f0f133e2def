// The methods of exchange.hpp, one function each. The peers have been checked; a rank with a
// finding has no parcels; the options name the method that runs.
#pragma once

#include "discovery/exchange.hpp"

namespace vicinal {

Inbox exchange_personalized(mpi::Communicator& communicator, const std::vector<Parcel>& outbox,
                            const std::optional<Finding>& mine);
Inbox exchange_nonblocking(mpi::Communicator& communicator, const std::vector<Parcel>& outbox,
                           const std::optional<Finding>& mine);
/// Both kinds.
Inbox exchange_by_locality(mpi::Communicator& communicator, const std::vector<Parcel>& outbox,
                           const ExchangeOptions& options, const std::optional<Finding>& mine);
Inbox exchange_one_sided(mpi::Communicator& communicator, const std::vector<Parcel>& outbox,
                         std::int64_t bytes, const std::optional<Finding>& mine);

/// The tag of a flat exchange, or of what goes between regions, in one of two turns.
[[nodiscard]] inline int discovery_tag(int turn) {
  return turn == 0 ? mpi::tag_discovery_even : mpi::tag_discovery_odd;
}

/// The reason of a wait for a consensus.
inline constexpr const char* all_in_exchange =
    "all ranks of its communicator to take part in an exchange";

}  // namespace vicinal
