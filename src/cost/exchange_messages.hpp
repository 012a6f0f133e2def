// How many messages a sparse exchange sends between regions, without running it: those that carry
// something, and those that the method itself needs. The rules are those of src/discovery, and a test
// counts what real exchanges post.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "cost/exchange_method.hpp"
#include "locality/machine.hpp"

namespace vicinal {

/// What a rank has for another.
struct SentMessage {
  int source = 0;
  int target = 0;
  std::int64_t bytes = 0;
};

/// Messages to ranks of other regions, by the rank that sends them.
struct ExchangeMessages {
  explicit ExchangeMessages(int ranks)
      : payload(static_cast<std::size_t>(ranks)), protocol(payload), inside_mpi(payload) {}
  std::vector<std::int64_t> payload;     ///< with something in them that a receiver is to get
  std::vector<std::int64_t> protocol;    ///< sums of counts, consensus, and those that say: nothing
  std::vector<std::int64_t> inside_mpi;  ///< of a collective of MPI's, taken as a dissemination
};

/// What one exchange sends, once the teams of the method are set up. `shared_memory` as in
/// ExchangeOptions, and the profile, by which `automatic` chooses. The method is not one-sided, which sends no
/// messages that could be counted.
[[nodiscard]] ExchangeMessages count_messages(Method method, const Machine& machine,
                                              std::span<const SentMessage> messages,
                                              bool shared_memory = true,
                                              const Profile& profile = default_profile());

/// The same for the locality-aware exchange as Geyko and Bienz have it (2023, algorithm 3): each rank
/// sends one message to each region that it has something for, to the rank at its own place there (in
/// a smaller region, around its end), and then all meet in a barrier of MPI's.
[[nodiscard]] ExchangeMessages count_as_published(const Machine& machine,
                                                  std::span<const SentMessage> messages);

/// To how many other regions each region has something to say: however messages are aggregated, there
/// is one for each such pair at least.
[[nodiscard]] std::vector<std::int64_t> count_region_pairs(const Machine& machine,
                                                           std::span<const SentMessage> messages);

}  // namespace vicinal
