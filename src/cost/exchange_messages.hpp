// Counts the messages that a sparse exchange sends between regions, without running it: those with
// data, and those that the method itself needs. The rules are those of src/discovery, and a test
// counts the messages of real exchanges.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "cost/exchange_method.hpp"
#include "locality/machine.hpp"

namespace vicinal {

/// Data of one rank for another.
struct SentMessage {
  int source = 0;
  int target = 0;
  std::int64_t bytes = 0;
};

/// Messages to ranks of other regions, by sending rank.
struct ExchangeMessages {
  explicit ExchangeMessages(int ranks)
      : payload(static_cast<std::size_t>(ranks)), protocol(payload), inside_mpi(payload) {}
  std::vector<std::int64_t> payload;     ///< with data for a receiver
  std::vector<std::int64_t> protocol;    ///< sums of counts, consensus, and empty messages
  std::vector<std::int64_t> inside_mpi;  ///< of an MPI collective, assumed to be a dissemination
};

/// Counts the messages of one exchange, once the teams of the method are set up. `shared_memory` is
/// as in ExchangeOptions, and with the profile determines the choice of `automatic`. The method
/// must not be one-sided, which sends no messages that could be counted.
[[nodiscard]] ExchangeMessages count_messages(Method method, const Machine& machine,
                                              std::span<const SentMessage> messages,
                                              bool shared_memory = true,
                                              const Profile& profile = default_profile());

/// As count_messages(), for the locality-aware exchange of Geyko and Bienz (2023, algorithm 3).
/// Each rank sends one message to each region that it has data for. The receiver is the rank at its
/// own position there (in a smaller region, wrapped around). Then all ranks meet in an MPI barrier.
[[nodiscard]] ExchangeMessages count_as_published(const Machine& machine,
                                                  std::span<const SentMessage> messages);

/// Counts the other regions that each region has data for: a lower bound of the messages, however
/// they are aggregated.
[[nodiscard]] std::vector<std::int64_t> count_region_pairs(const Machine& machine,
                                                           std::span<const SentMessage> messages);

}  // namespace vicinal
