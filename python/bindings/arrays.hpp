// Conversion between NumPy arrays and the library's vectors.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <algorithm>
#include <cstddef>
#include <initializer_list>
#include <memory>
#include <span>
#include <vector>

namespace vicinal::python {

/// One-dimensional, read-only array argument. Arrays of other number types are converted.
template <class Number>
using ArrayArgument =
    nanobind::ndarray<const Number, nanobind::ndim<1>, nanobind::c_contig, nanobind::device::cpu>;

template <class Number>
std::span<const Number> span_of(const ArrayArgument<Number>& array) {
  return {array.data(), array.size()};
}

template <class Number>
std::vector<Number> vector_of(const ArrayArgument<Number>& array) {
  return {array.data(), array.data() + array.size()};
}

/// Returns a new array that owns its values.
template <class Number>
nanobind::ndarray<nanobind::numpy, Number> new_array(std::vector<Number> values,
                                                     std::initializer_list<std::size_t> shape) {
  auto kept = std::make_unique<std::vector<Number>>(std::move(values));
  Number* data = kept->data();
  nanobind::capsule owner(
      kept.get(), [](void* vector) noexcept { delete static_cast<std::vector<Number>*>(vector); });
  kept.release();
  return nanobind::ndarray<nanobind::numpy, Number>(data, shape, owner);
}

template <class Number>
nanobind::ndarray<nanobind::numpy, Number> new_array(std::vector<Number> values) {
  const std::size_t count = values.size();
  return new_array(std::move(values), {count});
}

template <class Number>
nanobind::ndarray<nanobind::numpy, Number> new_array(std::span<const Number> values) {
  return new_array(std::vector<Number>(values.begin(), values.end()));
}

}  // namespace vicinal::python
