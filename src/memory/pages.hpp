// Pages of the arena's file, as its parts and those who have pages of it to themselves need them.
#pragma once

#include <cstdint>

namespace vicinal {

inline constexpr std::int64_t page_bytes = 4096;

constexpr std::int64_t round_up(std::int64_t value, std::int64_t unit) {
  return (value + unit - 1) / unit * unit;
}

/// Really allocates a stretch of a file; 0, or -1 with errno.
int reserve(int descriptor, std::int64_t begin, std::int64_t bytes);

}  // namespace vicinal
