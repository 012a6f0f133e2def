// Readers of the buffer protocol, of DLPack and of the device interface.
#include "mpi_array.hpp"

#include <algorithm>
#include <bit>
#include <optional>
#include <span>
#include <string_view>
#include <typeinfo>

#include "base/error.hpp"
#include "memory/device/device_memory.hpp"

namespace nb = nanobind;

namespace vicinal::python {

namespace {

/// Returns NumPy's type code for a format of the struct module, or nothing for objects.
std::optional<char> type_kind_of(std::string_view format) {
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

template <class First>
struct Paired {
  First first;
  int second;
};

struct PairRow {
  char letter;  ///< type code of the struct module, of the value before the int
  std::size_t bytes;
  MPI_Datatype type;
};

/// MPI's pair types, which have the memory layout of C structures.
std::span<const PairRow> pair_rows() {
  static const PairRow rows[] = {
      {'h', sizeof(Paired<short>), MPI_SHORT_INT},
      {'i', sizeof(Paired<int>), MPI_2INT},
      {'l', sizeof(Paired<long>), MPI_LONG_INT},
      {'f', sizeof(Paired<float>), MPI_FLOAT_INT},
      {'d', sizeof(Paired<double>), MPI_DOUBLE_INT},
      {'g', sizeof(Paired<long double>), MPI_LONG_DOUBLE_INT},
  };
  return rows;
}

/// Returns the type code of the pair type that "T{d:NAME:i:NAME:}" describes, with padding before
/// the int; else 0.
char pair_of(std::string_view format, std::int64_t bytes) {
  if (!format.starts_with("T{") || format.size() < 4 || format[3] != ':') return 0;
  std::string_view second = format.substr(std::min(format.find(':', 4), format.size() - 1) + 1);
  second.remove_prefix(std::min(second.find_first_not_of('x'), second.size()));
  if (!second.starts_with("i:") || second.find(':', 2) + 2 != second.size()) return 0;
  for (const PairRow& row : pair_rows()) {
    if (row.letter == format[2] && static_cast<std::int64_t>(row.bytes) == bytes) return row.letter;
  }
  return 0;
}

/// Returns whether `object` is a MaskedArray with a mask. Its buffer protocol exports masked
/// values, too. The class is a heap type, so other types are skipped.
bool has_mask(nb::handle object) {
  if ((PyType_GetFlags(Py_TYPE(object.ptr())) & Py_TPFLAGS_HEAPTYPE) == 0) return false;
  return nb::cast<bool>(nb::module_::import_("vicinal._arrays").attr("is_masked")(object));
}

/// The stream to wait for if an array names none. Numba writes on it, and PyTorch's arrays name
/// none.
constexpr std::uintptr_t default_stream = 0;

char type_kind_of(nb::dlpack::dtype type) {
  switch (static_cast<nb::dlpack::dtype_code>(type.code)) {
    case nb::dlpack::dtype_code::Int: return 'i';
    case nb::dlpack::dtype_code::UInt: return 'u';
    case nb::dlpack::dtype_code::Float: return 'f';
    case nb::dlpack::dtype_code::Complex: return 'c';
    case nb::dlpack::dtype_code::Bool: return 'b';
    default: return 'V';
  }
}

/// Parses a type string such as "<f8": byte order, NumPy's type code, bytes.
ValueType type_of(std::string_view text) {
  constexpr bool little = std::endian::native == std::endian::little;
  require(text.size() >= 3 && text.find_first_not_of("0123456789", 2) == text.npos, Fault::type,
          "an array describes its values as '", text, "', which is no type string of NumPy's");
  const std::int64_t bytes = std::stoll(std::string(text.substr(2)));
  const bool foreign = bytes > 1 && text.front() == (little ? '>' : '<');
  const bool known = std::string_view("iufcb").find(text[1]) != std::string_view::npos;
  return {known && !foreign ? text[1] : 'V', bytes};
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
    default:
      return (type.paired != 0 ? "pairs of " : "values of ") + std::to_string(type.bytes) +
             " bytes";
  }
}

MPI_Datatype datatype_of(const ValueType& type) {
  for (const PairRow& row : pair_rows()) {
    if (row.letter == type.paired) return row.type;
  }
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
  bool found =
      from_buffer(object, what) || from_device_interface(object, what) || from_dlpack(object, what);
  if (!found &&
      (nb::hasattr(object, "__array_interface__") || nb::hasattr(object, "__array_struct__"))) {
    found = from_buffer(nb::module_::import_("numpy").attr("asarray")(object), what);
  }
  require(
      found, Fault::buffer, what, " is of type ", Py_TYPE(object.ptr())->tp_name,
      ", which is no array that can be exchanged; give one that has the buffer protocol, DLPack, "
      "__array_interface__ or __cuda_array_interface__, such as a NumPy or a CuPy array "
      "(numpy.array makes one of a list)");
  if (dimensions_ == 0) shape_[0] = 1;  // a single value
  require(!has_mask(object), Fault::buffer, what,
          " has a mask, which would be ignored; give its filled(...), or its data where the mask "
          "does not matter");
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
    // CuPy's arrays have a buffer protocol that says that the processor cannot access their memory.
    if (nb::hasattr(object, "__cuda_array_interface__")) return false;
    fail(Fault::type, what, " gives no access to its memory (", reason.what(),
         "); give an array of numbers, which view('int64') makes of one of dates");
  }
  holds_buffer_ = true;
  const std::string_view format = buffer_.format == nullptr ? "B" : buffer_.format;
  const auto kind = type_kind_of(format);
  require(kind.has_value(), Fault::type, what, " has values of type object (format '", format,
          "'), which cannot be sent; give numbers");
  require(buffer_.ndim <= most_dimensions, Fault::buffer, what, " has ", buffer_.ndim,
          " dimensions; at most ", most_dimensions, " are possible");
  data_ = static_cast<std::byte*>(buffer_.buf);
  type_ = {*kind, static_cast<std::int64_t>(buffer_.itemsize)};
  type_.paired = pair_of(format, type_.bytes);
  read_only_ = buffer_.readonly != 0;
  dimensions_ = buffer_.ndim;
  for (int i = 0; i < dimensions_; ++i) {
    shape_[static_cast<std::size_t>(i)] = buffer_.shape[i];
    strides_[static_cast<std::size_t>(i)] = buffer_.strides[i];
  }
  return true;
}

bool Array::from_device_interface(nb::handle object, const char* what) {
  if (!nb::hasattr(object, "__cuda_array_interface__")) return false;
  std::uintptr_t stream = default_stream;
  try {
    const auto described = nb::cast<nb::dict>(object.attr("__cuda_array_interface__"));
    const auto told = [&](const char* key) {
      return described.contains(key) && !described[key].is_none();
    };
    const auto memory = nb::cast<nb::tuple>(described["data"]);
    const auto shape = nb::cast<nb::tuple>(described["shape"]);
    require(!told("mask"), Fault::buffer, what,
            " has a mask, which cannot be sent; give an array without");
    require(shape.size() <= most_dimensions, Fault::buffer, what, " has ", shape.size(),
            " dimensions; at most ", most_dimensions, " are possible");
    type_ = type_of(nb::cast<nb::str>(described["typestr"]).c_str());
    data_ = reinterpret_cast<std::byte*>(nb::cast<std::uintptr_t>(memory[0]));
    read_only_ = nb::cast<bool>(memory[1]);
    dimensions_ = static_cast<int>(shape.size());
    Index stride = type_.bytes;
    for (std::size_t i = shape.size(); i-- > 0;) {
      shape_[i] = nb::cast<Index>(shape[i]);
      strides_[i] = stride;
      stride *= shape_[i];
    }
    if (told("strides")) {
      const auto strides = nb::cast<nb::tuple>(described["strides"]);
      for (std::size_t i = 0; i < shape.size(); ++i) strides_[i] = nb::cast<Index>(strides[i]);
    }
    if (told("stream")) stream = nb::cast<std::uintptr_t>(described["stream"]);
  } catch (const nb::python_error& reason) {
    fail(Fault::type, what, " has a __cuda_array_interface__ that cannot be read: ", reason.what());
  } catch (const std::bad_cast&) {
    fail(Fault::type, what,
         " has a __cuda_array_interface__ with entries of other types than its definition has");
  }
  synchronize(what, stream);
  return true;
}

bool Array::from_dlpack(nb::handle object, const char* what) {
  if (!nb::hasattr(object, "__dlpack__")) return false;
  nb::ndarray<> writable;
  nb::ndarray<nb::ro> readable;
  read_only_ = !nb::try_cast(object, writable, false);
  if (read_only_ && !nb::try_cast(object, readable, false)) return false;
  tensor_ = read_only_ ? readable : nb::ndarray<nb::ro>(writable);
  if (tensor_.ndim() > most_dimensions) return false;
  // From here on, read_only_ says whether the data may be written.
  data_ = const_cast<std::byte*>(static_cast<const std::byte*>(tensor_.data()));
  type_ = {type_kind_of(tensor_.dtype()), static_cast<std::int64_t>(tensor_.itemsize())};
  dimensions_ = static_cast<int>(tensor_.ndim());
  for (std::size_t i = 0; i < tensor_.ndim(); ++i) {
    shape_[i] = static_cast<Index>(tensor_.shape(i));
    strides_[i] = tensor_.stride(i) * type_.bytes;
  }
  if (tensor_.device_type() != nb::device::cpu::value) synchronize(what, default_stream);
  return true;
}

void Array::synchronize(const char* what, std::uintptr_t stream) const {
  if (data_ == nullptr) return;  // an empty array
  require(
      device::is_known(data_), Fault::unsupported, what,
      " lies in the memory of a device for which no driver is in use (VICINAL_LOG=info says why); "
      "copy it to the host's");
  const nb::gil_scoped_release released;  // work that the stream waits for may need the GIL
  device::follow_stream(data_, stream);
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
