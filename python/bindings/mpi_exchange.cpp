// Checks of an exchange's arrays and operator, before it starts. Every exchange runs them, so
// values that only an error message needs are computed in the refuse_ functions.
#include "mpi_exchange.hpp"

#include <algorithm>
#include <functional>
#include <string_view>

#include "base/error.hpp"
#include "collectives/combine_of.hpp"
#include "memory/device/device_memory.hpp"
#include "mpi.hpp"
#include "mpi/collectives.hpp"

namespace nb = nanobind;

namespace vicinal::python {

namespace {

/// Checks that a predefined operator supports a type. MPI reports that only when the operator is
/// applied.
void try_operator(MPI_Op op, MPI_Datatype type, const ValueType& values) {
  alignas(64) std::byte one[64]{}, other[64]{};
  try {
    mpi::reduce_local(one, other, 1, type, op);
  } catch (const Error&) {
    fail(Fault::operation, "this operator of MPI cannot combine ", name(values));
  }
}

MPI_Op predefined(std::string_view word) {
  if (word == "sum") return MPI_SUM;
  if (word == "min") return MPI_MIN;
  if (word == "max") return MPI_MAX;
  if (word == "replace") return MPI_REPLACE;
  fail(Fault::operation, "op is '", word,
       "'; give 'sum', 'min', 'max', 'replace' or an mpi4py.MPI.Op");
}

}  // namespace

void Operands::check(Index owned_count, Index ghost_count, const char* ghosts_apart) {
  appended = !ghosts.given();
  if (owned.rows() != owned_count + (appended ? ghost_count : 0)) {
    refuse_length(owned_count, ghost_count, ghosts_apart);
  }
  if (!appended) check_ghosts(ghost_count);

  shape = {};
  shape.value_bytes = owned.type().bytes;
  if (owned.by_rows() && (appended || ghosts.by_rows())) {
    shape.values = owned.values_per_row();
  } else if (owned.by_columns() && (appended || ghosts.by_columns())) {
    shape.vectors = owned.extent(1);
    shape.source_stride = owned.column_stride();
    shape.target_stride = appended ? shape.source_stride : ghosts.column_stride();
  } else {
    refuse_layout();
  }
  if (shape.values == 0 || shape.vectors == 0) {
    fail(Fault::buffer, "x has shape ", owned.shape(), ": there is no value for an index");
  }
  if (appended) {
    ghost_data = owned.data() + owned_count * shape.values * shape.value_bytes;
    return;
  }
  ghost_data = ghosts.data();
  const std::less<const std::byte*> before;
  require(shape.vectors > 1 || !before(owned.data(), ghosts.data() + ghosts.bytes()) ||
              !before(ghosts.data(), owned.data() + owned.bytes()),
          Fault::buffer, "x and the array of ghosts overlap");
}

std::optional<std::uintptr_t> read_stream(nb::handle stream) {
  if (stream.is_none()) return std::nullopt;
  const auto read = nb::module_::import_("vicinal._arrays").attr("stream_handle");
  return nb::cast<std::uintptr_t>(read(stream));
}

void Operands::follow(nb::handle stream) const {
  const auto handle = read_stream(stream);
  if (!handle) return;
  const bool owned_there = !kind_of(owned.data()).is_reachable();
  const std::byte* const buffer = owned_there ? owned.data() : ghost_data;
  if (buffer == nullptr) return;
  const nb::gil_scoped_release released;  // work that the stream waits for may need the GIL
  device::follow_stream(buffer, *handle);
}

void Operands::refuse_layout() const {
  const auto regular = [](const Array& array) { return array.by_rows() || array.by_columns(); };
  require(
      appended || !regular(owned) || !regular(ghosts), Fault::buffer,
      "x and the array of ghosts differ in order: one is in C order, the other in Fortran order; "
      "give both in the same");
  fail(Fault::buffer, regular(owned) ? "the array of ghosts" : "x",
       " is not contiguous: give an array in C order (a block of values for each index), or a "
       "two-dimensional one in Fortran order (several vectors); numpy.ascontiguousarray makes one");
}

void Operands::refuse_length(Index owned_count, Index ghost_count, const char* ghosts_apart) const {
  if (appended) {
    fail(Fault::buffer, "x has shape ", owned.shape(), ", but this rank owns ", owned_count,
         " indices and has ", ghost_count, " ghosts: its first dimension must be ",
         owned_count + ghost_count, " (ghosts at the end), or ", owned_count, " (", ghosts_apart,
         ")");
  }
  fail(Fault::buffer, "x has shape ", owned.shape(), ", but this rank owns ", owned_count,
       " indices: with an array of ghosts, its first dimension must be ", owned_count);
}

void Operands::check_ghosts(Index ghost_count) const {
  if (ghosts.type() != owned.type()) {
    fail(Fault::type, "x holds ", name(owned.type()), ", but the array of ghosts ",
         name(ghosts.type()), "; both must hold the same");
  }
  bool fits = std::max(ghosts.dimensions(), 1) == std::max(owned.dimensions(), 1) &&
              ghosts.rows() == ghost_count;
  for (int i = 1; fits && i < owned.dimensions(); ++i) fits = ghosts.extent(i) == owned.extent(i);
  if (!fits) {
    fail(Fault::buffer, "x has shape ", owned.shape(), " and the array of ghosts ", ghosts.shape(),
         ", but this rank has ", ghost_count, " ghosts: its first dimension must be ", ghost_count,
         " and the others those of x");
  }
}

Combine read_operator(nb::handle op, const ValueType& type, Index values) {
  MPI_Op handle = MPI_OP_NULL;
  const bool word = nb::isinstance<nb::str>(op);
  if (word) {
    handle = predefined(nb::borrow<nb::str>(op).c_str());
  } else {
    const nb::object expected = nb::module_::import_("mpi4py.MPI").attr("Op");
    if (!nb::isinstance(op, expected)) {
      fail(Fault::operation, "op is ", nb::repr(op).c_str(),
           "; give 'sum', 'min', 'max', 'replace' or an mpi4py.MPI.Op");
    }
    handle = handle_at<MPI_Op>(address_of(op));
  }
  if (handle == MPI_REPLACE) return {};
  const MPI_Datatype datatype = datatype_of(type);
  if (datatype == MPI_DATATYPE_NULL) {
    fail(Fault::type, "x holds ", name(type),
         ", which MPI has no type for; give op='replace', or for MPI.MINLOC and MPI.MAXLOC pairs "
         "of numpy.dtype('f8,i4', align=True)");
  }
  Combine combine;
  try {
    combine = combine_of(handle, datatype, values);
  } catch (const Error& error) {
    fail(error.fault(), "x holds ", name(type), ": ", error.what());
  }
  if (combine.user_op == MPI_OP_NULL) return combine;
  const bool is_foreign = !word && !nb::cast<bool>(op.attr("is_predefined"));
  if (!is_foreign) try_operator(handle, datatype, type);
  return combine;
}

}  // namespace vicinal::python
