// What all ranks must give alike (settings, environment variables), as people write it, so that where
// they differ, the fault can name two ranks and both values.
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
  std::optional<std::string> value;  ///< nothing where it was not given
  Fault fault = Fault::info;         ///< of ranks that differ in it
};
void fields(auto&& take, Is<Given> auto& it) { take(it.name, it.value, it.fault); }

/// A number for a text, the same on all ranks; not negative.
std::int64_t fingerprint(std::string_view text);
/// The same for names and values; 0 for none.
std::int64_t fingerprint(std::span<const Given> given);

/// "vicinal_strategy is 'aggregate' on rank 0, but 'direct' on rank 1; ...": the first of what the two
/// ranks gave that differs. Nothing where nothing does. Both have the same names in the same order.
std::optional<Error> difference(std::span<const Given> one, int its_rank,
                                std::span<const Given> other, int other_rank);

}  // namespace vicinal
