// Tables of the operators and types that have kernels.
#include "collectives/combine_of.hpp"

#include <optional>
#include <utility>

#include "base/error.hpp"
#include "mpi/datatype.hpp"

namespace vicinal {

namespace {

template <class Number>
constexpr ElementType integer_of() {
  constexpr bool is_signed = static_cast<Number>(-1) < Number{0};
  switch (sizeof(Number)) {
    case 1: return is_signed ? ElementType::int8 : ElementType::uint8;
    case 2: return is_signed ? ElementType::int16 : ElementType::uint16;
    case 4: return is_signed ? ElementType::int32 : ElementType::uint32;
    default: return is_signed ? ElementType::int64 : ElementType::uint64;
  }
}

std::optional<ElementType> element_type(MPI_Datatype type) {
  const std::pair<MPI_Datatype, ElementType> table[] = {
      {MPI_DOUBLE, ElementType::float64},
      {MPI_FLOAT, ElementType::float32},
      {MPI_INT, integer_of<int>()},
      {MPI_LONG, integer_of<long>()},
      {MPI_LONG_LONG, integer_of<long long>()},
      {MPI_SHORT, integer_of<short>()},
      {MPI_SIGNED_CHAR, ElementType::int8},
      {MPI_UNSIGNED_CHAR, ElementType::uint8},
      {MPI_UNSIGNED_SHORT, integer_of<unsigned short>()},
      {MPI_UNSIGNED, integer_of<unsigned>()},
      {MPI_UNSIGNED_LONG, integer_of<unsigned long>()},
      {MPI_UNSIGNED_LONG_LONG, integer_of<unsigned long long>()},
      {MPI_INT8_T, ElementType::int8},
      {MPI_INT16_T, ElementType::int16},
      {MPI_INT32_T, ElementType::int32},
      {MPI_INT64_T, ElementType::int64},
      {MPI_UINT8_T, ElementType::uint8},
      {MPI_UINT16_T, ElementType::uint16},
      {MPI_UINT32_T, ElementType::uint32},
      {MPI_UINT64_T, ElementType::uint64},
      {MPI_C_FLOAT_COMPLEX, ElementType::complex64},
      {MPI_C_DOUBLE_COMPLEX, ElementType::complex128},
  };
  for (const auto& [handle, element] : table) {
    if (type == handle) return element;
  }
  return std::nullopt;
}

/// Classes of types that MPI's predefined operators distinguish.
enum class TypeClass : std::uint8_t { floating, complex, pair };

std::optional<TypeClass> class_of(MPI_Datatype type) {
  const std::pair<MPI_Datatype, TypeClass> table[] = {
      {MPI_FLOAT, TypeClass::floating},
      {MPI_DOUBLE, TypeClass::floating},
      {MPI_LONG_DOUBLE, TypeClass::floating},
      {MPI_REAL, TypeClass::floating},
      {MPI_DOUBLE_PRECISION, TypeClass::floating},
      {MPI_COMPLEX, TypeClass::complex},
      {MPI_DOUBLE_COMPLEX, TypeClass::complex},
      {MPI_C_COMPLEX, TypeClass::complex},
      {MPI_C_FLOAT_COMPLEX, TypeClass::complex},
      {MPI_C_DOUBLE_COMPLEX, TypeClass::complex},
      {MPI_C_LONG_DOUBLE_COMPLEX, TypeClass::complex},
      {MPI_FLOAT_INT, TypeClass::pair},
      {MPI_DOUBLE_INT, TypeClass::pair},
      {MPI_LONG_INT, TypeClass::pair},
      {MPI_2INT, TypeClass::pair},
      {MPI_SHORT_INT, TypeClass::pair},
      {MPI_LONG_DOUBLE_INT, TypeClass::pair},
  };
  for (const auto& [handle, its] : table) {
    if (type == handle) return its;
  }
  return std::nullopt;
}

struct Operator {
  MPI_Op handle;
  const char* name;
  bool of_floating;
  bool of_complex;
  bool of_pairs = false;
};

/// Throws if no MPI can combine `type` with `op`. For types without a class, MPI decides when it is
/// called.
void check_operator(MPI_Op op, MPI_Datatype type) {
  const std::optional<TypeClass> its = class_of(type);
  if (!its) return;
  const Operator table[] = {
      {MPI_SUM, "MPI_SUM", true, true},
      {MPI_PROD, "MPI_PROD", true, true},
      {MPI_MAX, "MPI_MAX", true, false},
      {MPI_MIN, "MPI_MIN", true, false},
      {MPI_LAND, "MPI_LAND", true, false},
      {MPI_LOR, "MPI_LOR", true, false},
      {MPI_LXOR, "MPI_LXOR", true, false},
      {MPI_BAND, "MPI_BAND", false, false},
      {MPI_BOR, "MPI_BOR", false, false},
      {MPI_BXOR, "MPI_BXOR", false, false},
      {MPI_MAXLOC, "MPI_MAXLOC", false, false, true},
      {MPI_MINLOC, "MPI_MINLOC", false, false, true},
  };
  for (const Operator& known : table) {
    if (op != known.handle) continue;
    const bool fits = *its == TypeClass::floating  ? known.of_floating
                      : *its == TypeClass::complex ? known.of_complex
                                                   : known.of_pairs;
    if (fits) return;
    fail(Fault::operation, known.name, " cannot combine values of type ", mpi::name_of(type),
         *its == TypeClass::complex ? ": complex numbers have no order and no bits. Give MPI_SUM, "
                                      "MPI_PROD, MPI_REPLACE or an operator of your own"
                                    : ". Give an operator that MPI defines for this type, or one "
                                      "of your own");
  }
}

}  // namespace

Combine combine_of(MPI_Op op, MPI_Datatype type, Index values) {
  require(op != MPI_OP_NULL, Fault::operation,
          "MPI_OP_NULL was given; give MPI_SUM, MPI_MIN, MPI_MAX, MPI_REPLACE or another operator");
  Combine combine;
  if (op == MPI_REPLACE) return combine;
  const auto element = element_type(type);
  const bool is_complex = element == ElementType::complex64 || element == ElementType::complex128;
  if (element && (op == MPI_SUM || ((op == MPI_MIN || op == MPI_MAX) && !is_complex))) {
    combine.type = *element;
    combine.op = op == MPI_SUM ? ReduceOp::sum : op == MPI_MIN ? ReduceOp::min : ReduceOp::max;
    return combine;
  }
  check_operator(op, type);
  combine.user_op = op;
  combine.datatype = type;
  combine.values = values;
  return combine;
}

}  // namespace vicinal
