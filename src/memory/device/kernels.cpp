#include "memory/device/kernels.hpp"

#include <algorithm>
#include <array>

namespace vicinal::device {

namespace {

constexpr std::array value_types = std::to_array<ValueType>({
    {ElementType::int8, "int8", "uint8", 1},
    {ElementType::int16, "int16", "uint16", 2},
    {ElementType::int32, "int32", "uint32", 4},
    {ElementType::int64, "int64", "uint64", 8},
    {ElementType::uint8, "uint8", "uint8", 1},
    {ElementType::uint16, "uint16", "uint16", 2},
    {ElementType::uint32, "uint32", "uint32", 4},
    {ElementType::uint64, "uint64", "uint64", 8},
    {ElementType::float32, "float32", "float32", 4},
    {ElementType::float64, "float64", "float64", 8},
    {ElementType::complex64, "", "float32", 4},
    {ElementType::complex128, "", "float64", 8},
});

}  // namespace

const ValueType& value_type(ElementType type) {
  return *std::find_if(value_types.begin(), value_types.end(),
                       [type](const ValueType& it) { return it.type == type; });
}

}  // namespace vicinal::device
