// A user's array as the exchanges see it: where it lies, how it is laid out, what its values are.
// Anything with the buffer protocol is taken as it is, which costs about a tenth of a microsecond;
// arrays that only know DLPack or __array_interface__ take a longer way to the same memory. Those on a
// GPU are known by __cuda_array_interface__, which AMD's have, too, or by DLPack.
#pragma once

#include <mpi.h>
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <array>
#include <cstddef>
#include <string>

#include "base/runs.hpp"

namespace vicinal::python {

/// The type of a value, as far as it matters for moving and combining it.
struct ValueType {
  char kind = 'V';         ///< NumPy's letter: i, u, f, c, b (bool), or V for anything else
  std::int64_t bytes = 0;  ///< of one value
  char paired = 0;         ///< what precedes the int of one of MPI's pairs, as struct's letter
  friend bool operator==(const ValueType&, const ValueType&) = default;
};

/// "float64", "int32", "values of 12 bytes".
std::string name(const ValueType& type);

/// MPI's type for it; MPI_DATATYPE_NULL where there is none.
MPI_Datatype datatype_of(const ValueType& type);

/// A view of a Python object's memory; the object keeps it in place for the life of the view. To be
/// used and destroyed with the GIL held. Cannot be moved, since some exporters know where it is.
class Array {
 public:
  static constexpr int most_dimensions = 8;

  Array() = default;
  Array(const Array&) = delete;
  Array& operator=(const Array&) = delete;
  ~Array() { release(); }

  /// Looks at `object`, once. `what` names the argument in messages. Throws a type or buffer fault.
  void view(nanobind::handle object, const char* what);
  /// Lets go of the memory.
  void release();

  [[nodiscard]] bool given() const { return object_.is_valid(); }
  [[nodiscard]] const nanobind::object& object() const { return object_; }
  [[nodiscard]] std::byte* data() const { return data_; }
  [[nodiscard]] const ValueType& type() const { return type_; }
  [[nodiscard]] int dimensions() const { return dimensions_; }
  /// Entries of the first dimension.
  [[nodiscard]] Index rows() const { return shape_[0]; }
  [[nodiscard]] Index extent(int dimension) const {
    return shape_[static_cast<std::size_t>(dimension)];
  }
  /// Values in one entry of the first dimension.
  [[nodiscard]] Index values_per_row() const;
  /// Whether it lies in memory row after row, without gaps.
  [[nodiscard]] bool by_rows() const;
  /// Whether it has two dimensions, and each column lies in memory without gaps.
  [[nodiscard]] bool by_columns() const;
  /// Whether it has no gaps at all, in whichever order.
  [[nodiscard]] bool without_gaps() const;
  /// Bytes in all.
  [[nodiscard]] std::int64_t bytes() const { return rows() * values_per_row() * type_.bytes; }
  /// Values from one column to the next, where by_columns().
  [[nodiscard]] Index column_stride() const;
  /// "(12, 3)".
  [[nodiscard]] std::string shape() const;

  /// Throws a buffer fault where the memory must not be written.
  void require_writable(const char* what) const;

 private:
  bool from_buffer(nanobind::handle object, const char* what);
  bool from_device_interface(nanobind::handle object, const char* what);
  bool from_dlpack(nanobind::handle object, const char* what);
  /// Throws an unsupported fault where no driver knows the memory, which may be anywhere then; else waits for what its
  /// owner has put on a stream before.
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
