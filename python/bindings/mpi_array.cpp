// Reading the buffer protocol's and DLPack's descriptions.
#include "mpi_array.hpp"

#include <bit>
#include <optional>
#include <string_view>

#include "base/error.hpp"

namespace nb = nanobind;

namespace vicinal::python {

namespace {

/// NumPy's letter for a format of the struct module; nothing for objects.
std::optional<char> kind_of(std::string_view format) {
  constexpr bool little = std::endian::native == std::endian::little;
  char order = '@';
  if (!format.empty() && std::string_view("@=<>!").find(format.front()) != format.npos) {
    order = format.front();
    format.remove_prefix(1);
  }
  if (format.find('O') != format.npos) return std::nullopt;
  const bool foreign = little ? (order == '>' || order == '!') : order == '<';
  if (foreign && format != "b" && format != "B" && format != "?") return 'V';
  if (format == "Zf" || format == "Zd" || format == "Zg") return 'c';
  if (format.size() != 1) return 'V';
  const char letter = format.front();
  if (std::string_view("bhilqn").find(letter) != std::string_view::npos) return 'i';
  if (std::string_view("BHILQN").find(letter) != std::string_view::npos) return 'u';
  if (std::string_view("efdg").find(letter) != std::string_view::npos) return 'f';
  return letter == '?' ? 'b' : 'V';
}

char kind_of(nb::dlpack::dtype type) {
  switch (static_cast<nb::dlpack::dtype_code>(type.code)) {
    case nb::dlpack::dtype_code::Int: return 'i';
    case nb::dlpack::dtype_code::UInt: return 'u';
    case nb::dlpack::dtype_code::Float: return 'f';
    case nb::dlpack::dtype_code::Complex: return 'c';
    case nb::dlpack::dtype_code::Bool: return 'b';
    default: return 'V';
  }
}

}  // namespace

std::string name(const ValueType& type) {
  const std::string bits = std::to_string(type.bytes * 8);
  switch (type.kind) {
    case 'i': return "int" + bits;
    case 'u': return "uint" + bits;
    case 'f': return "float" + bits;
    case 'c': return "complex" + bits;
    case 'b': return "bool";
    default: return "values of " + std::to_string(type.bytes) + " bytes";
  }
}

MPI_Datatype datatype_of(const ValueType& type) {
  const auto by_size = [&](MPI_Datatype one, MPI_Datatype two, MPI_Datatype four,
                           MPI_Datatype eight) {
    switch (type.bytes) {
      case 1: return one;
      case 2: return two;
      case 4: return four;
      case 8: return eight;
      default: return MPI_DATATYPE_NULL;
    }
  };
  switch (type.kind) {
    case 'i': return by_size(MPI_INT8_T, MPI_INT16_T, MPI_INT32_T, MPI_INT64_T);
    case 'u': return by_size(MPI_UINT8_T, MPI_UINT16_T, MPI_UINT32_T, MPI_UINT64_T);
    case 'b': return type.bytes == 1 ? MPI_C_BOOL : MPI_DATATYPE_NULL;
    case 'f':
      if (type.bytes == 4) return MPI_FLOAT;
      if (type.bytes == 8) return MPI_DOUBLE;
      return type.bytes == sizeof(long double) ? MPI_LONG_DOUBLE : MPI_DATATYPE_NULL;
    case 'c':
      if (type.bytes == 8) return MPI_C_FLOAT_COMPLEX;
      if (type.bytes == 16) return MPI_C_DOUBLE_COMPLEX;
      return type.bytes == 2 * sizeof(long double) ? MPI_C_LONG_DOUBLE_COMPLEX : MPI_DATATYPE_NULL;
    default: return MPI_DATATYPE_NULL;
  }
}

void Array::view(nb::handle object, const char* what) {
  object_ = nb::borrow(object);
  bool found = from_buffer(object, what) || from_dlpack(object);
  if (!found &&
      (nb::hasattr(object, "__array_interface__") || nb::hasattr(object, "__array_struct__"))) {
    found = from_buffer(nb::module_::import_("numpy").attr("asarray")(object), what);
  }
  require(found, Fault::buffer, what, " is a ", Py_TYPE(object.ptr())->tp_name,
          ", which is no array in the memory of this host; give one that has the buffer protocol, "
          "DLPack or __array_interface__, such as a NumPy array");
  require(dimensions_ >= 1, Fault::buffer, what,
          " is a single value; give an array with an entry for each index");
}

void Array::release() {
  if (holds_buffer_) PyBuffer_Release(&buffer_);
  holds_buffer_ = false;
  tensor_ = {};
  object_.reset();
}

bool Array::from_buffer(nb::handle object, const char* what) {
  if (PyObject_CheckBuffer(object.ptr()) == 0) return false;
  if (PyObject_GetBuffer(object.ptr(), &buffer_, PyBUF_RECORDS_RO) != 0) {
    const nb::python_error reason;
    fail(Fault::type, what, " gives no access to its memory: ", reason.what());
  }
  holds_buffer_ = true;
  const std::string_view format = buffer_.format == nullptr ? "B" : buffer_.format;
  const auto kind = kind_of(format);
  require(kind.has_value(), Fault::type, what, " has values of type object (format '", format,
          "'), which cannot be sent; give numbers");
  require(buffer_.ndim <= most_dimensions, Fault::buffer, what, " has ", buffer_.ndim,
          " dimensions; at most ", most_dimensions, " are possible");
  data_ = static_cast<std::byte*>(buffer_.buf);
  type_ = {*kind, static_cast<std::int64_t>(buffer_.itemsize)};
  read_only_ = buffer_.readonly != 0;
  dimensions_ = buffer_.ndim;
  for (int i = 0; i < dimensions_; ++i) {
    shape_[static_cast<std::size_t>(i)] = buffer_.shape[i];
    strides_[static_cast<std::size_t>(i)] = buffer_.strides[i];
  }
  return true;
}

bool Array::from_dlpack(nb::handle object) {
  if (!nb::hasattr(object, "__dlpack__")) return false;
  nb::ndarray<nb::device::cpu> writable;
  nb::ndarray<nb::ro, nb::device::cpu> readable;
  read_only_ = !nb::try_cast(object, writable, false);
  if (read_only_ && !nb::try_cast(object, readable, false)) return false;
  tensor_ = read_only_ ? nb::ndarray<nb::ro>(readable) : nb::ndarray<nb::ro>(writable);
  if (tensor_.ndim() > most_dimensions) return false;
  // What may be written is known by read_only_ from here on.
  data_ = const_cast<std::byte*>(static_cast<const std::byte*>(tensor_.data()));
  type_ = {kind_of(tensor_.dtype()), static_cast<std::int64_t>(tensor_.itemsize())};
  dimensions_ = static_cast<int>(tensor_.ndim());
  for (std::size_t i = 0; i < tensor_.ndim(); ++i) {
    shape_[i] = static_cast<Index>(tensor_.shape(i));
    strides_[i] = tensor_.stride(i) * type_.bytes;
  }
  return true;
}

Index Array::values_per_row() const {
  Index values = 1;
  for (int i = 1; i < dimensions_; ++i) values *= extent(i);
  return values;
}

bool Array::by_rows() const {
  Index expected = type_.bytes;
  bool contiguous = true;
  for (int i = dimensions_ - 1; i >= 0; --i) {
    const Index length = extent(i);
    if (length == 0) return true;
    if (length > 1 && strides_[static_cast<std::size_t>(i)] != expected) contiguous = false;
    expected *= length;
  }
  return contiguous;
}

bool Array::without_gaps() const {
  if (by_rows()) return true;
  Index expected = type_.bytes;
  for (int i = 0; i < dimensions_; ++i) {
    const Index length = extent(i);
    if (length > 1 && strides_[static_cast<std::size_t>(i)] != expected) return false;
    expected *= length;
  }
  return true;
}

bool Array::by_columns() const {
  if (dimensions_ != 2) return false;
  if (shape_[0] == 0 || shape_[1] == 0) return true;
  if (shape_[0] > 1 && strides_[0] != type_.bytes) return false;
  return shape_[1] == 1 ||
         (strides_[1] >= shape_[0] * type_.bytes && strides_[1] % type_.bytes == 0);
}

Index Array::column_stride() const {
  return shape_[0] == 0 || shape_[1] <= 1 ? shape_[0] : strides_[1] / type_.bytes;
}

std::string Array::shape() const {
  std::string text = "(";
  for (int i = 0; i < dimensions_; ++i) text += (i > 0 ? ", " : "") + std::to_string(extent(i));
  return text + (dimensions_ == 1 ? ",)" : ")");
}

void Array::require_writable(const char* what) const {
  require(!read_only_, Fault::buffer, what, " is read-only, but values are to be written to it");
}

}  // namespace vicinal::python
