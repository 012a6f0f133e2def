// The methods of sparse exchange, without MPI: their names, the choice for a machine, and their
// messages. discovery/exchange.hpp describes the methods themselves.
//
// The messages that an exchange sends between regions are counted without running it: those with
// data, and those that the method itself needs. The rules are those of src/discovery, and a test
// counts the messages of real exchanges.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "cost/profile.hpp"
#include "locality/machine.hpp"

namespace vicinal {

enum class Method {
  automatic,
  personalized,
  nonblocking,
  locality,
  locality_personalized,
  one_sided,
};

/// Returns "locality-personalized" and so on.
[[nodiscard]] std::string_view name(Method method);
/// Returns the method of a name. Throws an info fault that lists the names.
[[nodiscard]] Method method_of(std::string_view name);

/// Assumed sends of each rank if they are unknown: this many messages of this many bytes, to ranks
/// all over the machine.
constexpr std::int64_t typical_messages = 8;
constexpr std::int64_t typical_bytes = 128;

/// Returns the time of one exchange by a method, with typical sends on every rank. The method is
/// one of those that `automatic` may stand for.
[[nodiscard]] Picoseconds exchange_time(Method method, const Machine& machine, bool shared_memory,
                                        const Profile& profile);

/// Returns the method that `automatic` stands for: the one that takes the least time by the
/// profile.
///
/// The choice depends only on what all ranks know without communication: their number, their
/// placement and the profile. Other ranks do not know what a rank has to send, or what its caller
/// hints. Ranks with different methods deadlock, and agreeing on one costs as much as the rounds
/// that a better one saves. The last exchange gives no more information: locality-aware methods
/// never sum up over all ranks. So degree and size are assumed to be small. Large messages go
/// directly to their receivers with every method.
[[nodiscard]] Method choose_method(const Machine& machine, bool shared_memory,
                                   const Profile& profile);

/// No rank relays messages of this many bytes or more: locality-aware methods send them directly to
/// their receivers.
constexpr std::size_t straight_bytes = std::size_t{1} << 16;

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
