// Asking others, and answering those who asked: an exchange of requests, then one of replies. Who
// is to send a reply, and to whom, is known by then, so replies need neither counts nor consensus.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "discovery/exchange.hpp"

namespace vicinal {

/// What a rank has asked and been asked.
class Query {
 public:
  /// Sends the requests. Collective, and throws, as exchange() does.
  Query(mpi::Communicator& communicator, std::vector<Parcel> requests,
        const ExchangeOptions& options = {}, std::optional<Finding> mine = std::nullopt);

  /// The requests to this rank.
  [[nodiscard]] const Inbox& requests() const { return requests_; }

  /// Sends a reply to each of requests(), in their order; returns those to this rank's own
  /// requests, by the rank that was asked, then as asked. All ranks that asked or were asked take
  /// part, and all that answer several queries on a communicator do so in the same order. By the
  /// methods that go by locality, collective for all ranks.
  ///
  /// A rank may come with a finding instead of replies: then it throws, and so do those who asked
  /// it. Can be done once.
  Inbox answer(std::span<const std::span<const std::byte>> replies,
               const std::optional<Finding>& mine = std::nullopt);

 private:
  Inbox answer_straight(std::span<const std::span<const std::byte>> replies,
                        const std::optional<Finding>& mine);

  mpi::Communicator& communicator_;
  ExchangeOptions options_;
  std::vector<int> asked_;  ///< ascending, each as often as it was asked
  Inbox requests_;
};

}  // namespace vicinal
