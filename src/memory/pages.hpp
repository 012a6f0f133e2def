// Page operations on the arena's file, shared by the arena's parts and by users of whole pages.
#pragma once

#include <cstdint>

namespace vicinal {

inline constexpr std::int64_t page_bytes = 4096;

constexpr std::int64_t round_up(std::int64_t value, std::int64_t unit) {
  return (value + unit - 1) / unit * unit;
}

/// Allocates the pages of a range of a file. Returns 0, or -1 with errno.
int reserve(int descriptor, std::int64_t begin, std::int64_t bytes);

}  // namespace vicinal
