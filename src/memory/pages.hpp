// Pages of the arena's file, as its two parts need them.
#pragma once

#include <cstdint>

namespace vicinal {

constexpr std::int64_t round_up(std::int64_t value, std::int64_t unit) {
  return (value + unit - 1) / unit * unit;
}

/// Really allocates a stretch of a file; 0, or -1 with errno.
int reserve(int descriptor, std::int64_t begin, std::int64_t bytes);

}  // namespace vicinal
