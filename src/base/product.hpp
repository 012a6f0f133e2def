// Sizes are products of what users give, and may be more than can be counted.
#pragma once

#include "base/error.hpp"
#include "base/runs.hpp"

namespace vicinal {

/// The product of a count and a size. Throws a count fault where it is more than can be counted.
inline Index product(Index count, Index bytes) {
  Index result = 0;
  require(!__builtin_mul_overflow(count, bytes, &result), Fault::count, count, " times ", bytes,
          " bytes are more than can be counted");
  return result;
}

}  // namespace vicinal
