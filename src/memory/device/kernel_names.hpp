// What the kernels of kernels.cu are called.
#pragma once

#include <cstdint>

#include "memory/kernels.hpp"

namespace vicinal::device {

/// The largest part that kernels move at a time.
inline constexpr std::int64_t largest_part = 16;

/// How kernels see an element type.
struct ValueType {
  ElementType type;
  const char* name;       ///< "" for those without an order
  const char* summed_as;  ///< integers wrap around; complex values are two real ones
  int bytes;              ///< of what is summed
};
[[nodiscard]] const ValueType& value_type(ElementType type);

/// Which not all architectures have.
inline constexpr const char* telling_kernel = "copy_batch_few";

}  // namespace vicinal::device
