// The methods of sparse exchange, as far as they can be talked about without MPI: their names, and
// which of them suits a machine. What they do is in discovery/exchange.hpp.
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

/// "locality-personalized" and so on.
[[nodiscard]] std::string_view name(Method method);
/// The method of a name. Throws an info fault that lists the names.
[[nodiscard]] Method method_of(std::string_view name);

/// What each rank is taken to send, where it is not known: so many messages of so many bytes, for ranks all over the machine.
constexpr std::int64_t typical_messages = 8;
constexpr std::int64_t typical_bytes = 128;

/// How long one exchange takes by a method, where every rank sends what is typical. The method is one of those that `automatic`
/// may stand for.
[[nodiscard]] Picoseconds exchange_time(Method method, const Machine& machine, bool shared_memory,
                                        const Profile& profile);

/// The method that `automatic` stands for: the one that takes the least time by the profile.
///
/// It follows from what all ranks know before they have spoken: how many they are, where they live, the profile. What a rank
/// has to send, or a caller hints, others do not know; ranks that go by different methods wait for each other for ever,
/// and agreeing on one costs as much as the rounds that a better one saves. What ranks know of the last exchange
/// is no more: those that go by locality never sum up over all ranks. So degree and size are taken to be small, and large
/// messages go straight to their receivers whatever the method.
[[nodiscard]] Method choose_method(const Machine& machine, bool shared_memory,
                                   const Profile& profile);

/// Messages of so many bytes, or more, are not carried by others: methods that go by locality send
/// them straight to their receivers.
constexpr std::size_t straight_bytes = std::size_t{1} << 16;

}  // namespace vicinal
