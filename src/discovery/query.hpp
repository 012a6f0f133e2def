// Queries to other ranks: an exchange of requests, then one of replies. By then each rank knows who
// replies to whom, so replies need neither counts nor a consensus.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "discovery/exchange.hpp"

namespace vicinal {

/// The requests of a rank, and the requests to it.
class Query {
 public:
  /// Sends the requests. Collective; throws as exchange() does.
  Query(mpi::Communicator& communicator, std::vector<Parcel> requests,
        const ExchangeOptions& options = {}, std::optional<Error> mine = std::nullopt);

  /// Returns the requests to this rank.
  [[nodiscard]] const Inbox& requests() const { return requests_; }

  /// Sends replies[i] to the sender of the i-th of requests(). Returns the replies to this rank's
  /// own requests, ordered by the rank asked, then as asked. All ranks that asked or were asked
  /// must call it, in the same order for several queries on one communicator. With the locality
  /// methods it is collective over all ranks.
  ///
  /// A rank may bring a finding instead of replies: then it throws, and so do the ranks that asked
  /// it. May be called once.
  Inbox answer(std::span<const std::span<const std::byte>> replies,
               const std::optional<Error>& mine = std::nullopt);

 private:
  Inbox answer_straight(std::span<const std::span<const std::byte>> replies,
                        const std::optional<Error>& mine);

  mpi::Communicator& communicator_;
  ExchangeOptions options_;
  std::vector<int> asked_;  ///< ascending; a rank asked several times repeats
  Inbox requests_;
};

}  // namespace vicinal
