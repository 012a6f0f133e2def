// The methods of exchange.hpp, one function each. Their callers have checked the peers. A rank with
// a finding passes no parcels. The options name the method to run.
#pragma once

#include "discovery/exchange.hpp"

namespace vicinal {

Inbox exchange_personalized(mpi::Communicator& communicator, const std::vector<Parcel>& outbox,
                            const std::optional<Finding>& mine);
Inbox exchange_nonblocking(mpi::Communicator& communicator, const std::vector<Parcel>& outbox,
                           const std::optional<Finding>& mine);
/// Runs locality or locality-personalized.
Inbox exchange_by_locality(mpi::Communicator& communicator, const std::vector<Parcel>& outbox,
                           const ExchangeOptions& options, const std::optional<Finding>& mine);
Inbox exchange_one_sided(mpi::Communicator& communicator, const std::vector<Parcel>& outbox,
                         std::int64_t bytes, const std::optional<Finding>& mine);

/// Returns the tag of a flat exchange or of messages between regions; `turn` is 0 or 1.
[[nodiscard]] inline int discovery_tag(int turn) {
  return turn == 0 ? mpi::tag_discovery_even : mpi::tag_discovery_odd;
}

/// Reason for waiting for a consensus.
inline constexpr const char* all_in_exchange =
    "all ranks of its communicator to take part in an exchange";

}  // namespace vicinal
