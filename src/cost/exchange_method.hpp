// The methods of sparse exchange, as far as they can be talked about without MPI: their names, and
// which of them suits a machine. What they do is in discovery/exchange.hpp.
#pragma once

#include <cstddef>
#include <string_view>

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

/// The method that `automatic` stands for. It depends on nothing but what all ranks know (how many
/// they are and where they live), so choosing costs no communication; how much a rank has to send
/// plays no part, and large messages go straight to their receivers whatever the method.
[[nodiscard]] Method choose_method(const Machine& machine, bool shared_memory);

/// Messages of so many bytes, or more, are not carried by others: methods that go by locality send
/// them straight to their receivers.
constexpr std::size_t straight_bytes = std::size_t{1} << 16;

}  // namespace vicinal
