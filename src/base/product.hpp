// Overflow-checked sizes: sizes are products of user input.
#pragma once

#include "base/error.hpp"
#include "base/runs.hpp"

namespace vicinal {

/// Returns the product of a count and a size. Throws a count fault on overflow.
inline Index product(Index count, Index bytes) {
  Index result = 0;
  require(!__builtin_mul_overflow(count, bytes, &result), Fault::count, count, " times ", bytes,
          " bytes are more than can be counted");
  return result;
}

}  // namespace vicinal
