// Names of the kernels of kernels.cu.
#pragma once

#include <cstdint>

#include "memory/kernels.hpp"

namespace vicinal::device {

/// Largest part that kernels move at a time, in bytes.
inline constexpr std::int64_t largest_part = 16;

/// An element type in kernel names.
struct ValueType {
  ElementType type;
  const char* name;       ///< "" for types without an order
  const char* summed_as;  ///< integers as unsigned, complex values as two real ones
  int bytes;              ///< per summed value
};
[[nodiscard]] const ValueType& value_type(ElementType type);

/// Kernel that can set a completion flag; not all architectures have it.
inline constexpr const char* telling_kernel = "copy_batch_few";

}  // namespace vicinal::device
