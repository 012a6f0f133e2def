// A view of a user's array: its address, layout and value type. An object with the buffer protocol
// is read directly, which costs about a tenth of a microsecond. Arrays with only DLPack or
// __array_interface__ take longer. Arrays on a GPU have __cuda_array_interface__ (also on AMD's
// GPUs) or DLPack.
#pragma once

#include <mpi.h>
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <array>
#include <cstddef>
#include <string>

#include "base/runs.hpp"

namespace vicinal::python {

/// The type of a value, as far as moving and combining need it.
struct ValueType {
  char kind = 'V';         ///< NumPy's type code: i, u, f, c, b (bool), or V for any other type
  std::int64_t bytes = 0;  ///< of one value
  char paired = 0;         ///< in an MPI pair: struct's type code of the value before the int
  friend bool operator==(const ValueType&, const ValueType&) = default;
};

/// Returns a name such as "float64", "int32" or "values of 12 bytes".
std::string name(const ValueType& type);

/// Returns MPI's datatype for it, or MPI_DATATYPE_NULL if there is none.
MPI_Datatype datatype_of(const ValueType& type);

/// A view of a Python object's memory. It keeps the object, and so the memory, in place. Use and
/// destroy it with the GIL held. It cannot be moved, since some exporters store its address.
class Array {
 public:
  static constexpr int most_dimensions = 8;

  Array() = default;
  Array(const Array&) = delete;
  Array& operator=(const Array&) = delete;
  ~Array() { release(); }

  /// Reads the layout of `object`; call it once. `what` names the argument in messages. Throws a
  /// type or buffer fault.
  void view(nanobind::handle object, const char* what);
  /// Releases the memory.
  void release();

  [[nodiscard]] bool given() const { return object_.is_valid(); }
  [[nodiscard]] const nanobind::object& object() const { return object_; }
  [[nodiscard]] std::byte* data() const { return data_; }
  [[nodiscard]] const ValueType& type() const { return type_; }
  [[nodiscard]] int dimensions() const { return dimensions_; }
  /// Number of entries in the first dimension.
  [[nodiscard]] Index rows() const { return shape_[0]; }
  [[nodiscard]] Index extent(int dimension) const {
    return shape_[static_cast<std::size_t>(dimension)];
  }
  /// Number of values in one entry of the first dimension.
  [[nodiscard]] Index values_per_row() const;
  /// Returns whether rows are contiguous and follow each other without gaps.
  [[nodiscard]] bool by_rows() const;
  /// Returns whether there are two dimensions, and each column is contiguous.
  [[nodiscard]] bool by_columns() const;
  /// Returns whether there are no gaps, in row or column order.
  [[nodiscard]] bool without_gaps() const;
  /// Total number of bytes.
  [[nodiscard]] std::int64_t bytes() const { return rows() * values_per_row() * type_.bytes; }
  /// Number of values from one column to the next, if by_columns().
  [[nodiscard]] Index column_stride() const;
  /// Returns the shape as text, such as "(12, 3)".
  [[nodiscard]] std::string shape() const;

  /// Throws a buffer fault if the memory is read-only.
  void require_writable(const char* what) const;

 private:
  bool from_buffer(nanobind::handle object, const char* what);
  bool from_device_interface(nanobind::handle object, const char* what);
  bool from_dlpack(nanobind::handle object, const char* what);
  /// Orders exchanges after the work on the stream. Throws an unsupported fault if no driver knows
  /// the memory, which may then be anywhere.
  void synchronize(const char* what, std::uintptr_t stream) const;

  nanobind::object object_;
  Py_buffer buffer_{};
  bool holds_buffer_ = false;
  nanobind::ndarray<nanobind::ro> tensor_;
  std::byte* data_ = nullptr;
  ValueType type_;
  bool read_only_ = false;
  int dimensions_ = 0;
  std::array<Index, most_dimensions> shape_{};
  std::array<Index, most_dimensions> strides_{};  ///< in bytes
};

}  // namespace vicinal::python
