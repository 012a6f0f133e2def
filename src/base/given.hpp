// Values that all ranks must give identically (settings, environment variables), as the user wrote
// them. The fault about a difference names two ranks and both values.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.hpp"
#include "base/records.hpp"

namespace vicinal {

struct Given {
  std::string name;
  std::optional<std::string> value;  ///< empty if it was not given
  Fault fault = Fault::info;         ///< the fault if ranks differ in it
};
void fields(auto&& take, Is<Given> auto& it) { take(it.name, it.value, it.fault); }

/// Returns a non-negative hash of a text, equal on all ranks.
std::int64_t fingerprint(std::string_view text);
/// Returns a hash of names and values; 0 for an empty list.
std::int64_t fingerprint(std::span<const Given> given);

/// Returns an error about the first value that differs between two ranks, or nothing. Both lists
/// have the same names in the same order. Example: "vicinal_strategy is 'aggregate' on rank 0, but
/// 'direct' on rank 1; ...".
std::optional<Error> difference(std::span<const Given> one, int its_rank,
                                std::span<const Given> other, int other_rank);

}  // namespace vicinal
