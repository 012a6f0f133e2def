// Time in whole picoseconds, for decisions that ranks must make identically without communication.
// No sum of these depends on the rounding of a processor or on a compiler.
#pragma once

#include <cmath>
#include <cstdint>

namespace vicinal {

using Picoseconds = std::int64_t;

[[nodiscard]] inline Picoseconds picoseconds(double seconds) {
  return std::llround(seconds * 1e12);
}
[[nodiscard]] inline Picoseconds picoseconds(std::int64_t bytes, double seconds_per_byte) {
  return std::llround(static_cast<double>(bytes) * seconds_per_byte * 1e12);
}

}  // namespace vicinal
