// The methods of sparse exchange, without MPI: their names, and the choice for a machine.
// discovery/exchange.hpp describes the methods themselves.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "cost/picoseconds.hpp"
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

}  // namespace vicinal
