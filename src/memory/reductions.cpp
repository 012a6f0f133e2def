// Reductions over compiled runs. Operands are combined in the order of the runs, so sums are
// bitwise reproducible. Values are loaded and stored through memcpy, since a message or an arena
// slot may not be aligned for its type.
#include <algorithm>
#include <complex>
#include <cstring>
#include <limits>
#include <type_traits>

#include "base/error.hpp"
#include "memory/kernels.hpp"

namespace vicinal {
namespace {

template <class T>
T load(const std::byte* place) {
  T value;
  std::memcpy(&value, place, sizeof(T));
  return value;
}

struct Sum {
  template <class T>
  T operator()(T a, T b) const {
    if constexpr (std::is_integral_v<T>) {
      // Wraps around, as in every MPI, without undefined behavior.
      using Unsigned = std::make_unsigned_t<T>;
      return static_cast<T>(
          static_cast<Unsigned>(static_cast<Unsigned>(a) + static_cast<Unsigned>(b)));
    } else {
      return a + b;
    }
  }
};

struct Min {
  template <class T>
  T operator()(T a, T b) const {
    return b < a ? b : a;
  }
};

struct Max {
  template <class T>
  T operator()(T a, T b) const {
    return a < b ? b : a;
  }
};

template <class T, class Op>
void combine(std::byte* __restrict to, const std::byte* __restrict from, std::int64_t count) {
  for (std::int64_t i = 0; i < count; ++i) {
    const auto offset = i * static_cast<std::int64_t>(sizeof(T));
    const T value = Op{}(load<T>(to + offset), load<T>(from + offset));
    std::memcpy(to + offset, &value, sizeof(T));
  }
}

template <class T, class Op>
void reduce_values(const CompiledReduction& runs, const std::byte* from, std::byte* to) {
  const std::size_t count = runs.sources32.size();
  for (std::size_t i = 0; i < count; ++i) {
    combine<T, Op>(to + runs.targets32[i], from + runs.sources32[i], 1);
  }
}

template <class T, class Op>
void reduce_pieces(const CompiledReduction& runs, const std::byte* from, std::byte* to) {
  for (const ByteRun& piece : runs.pieces) {
    combine<T, Op>(to + piece.target, from + piece.source,
                   piece.bytes / static_cast<std::int64_t>(sizeof(T)));
  }
}

void replace(const CompiledReduction& runs, const std::byte* from, std::byte* to) {
  run(runs.copy, from, to);
}

template <class T, class Op>
CompiledReduction::Kernel kernel(bool single_values) {
  return single_values ? reduce_values<T, Op> : reduce_pieces<T, Op>;
}

template <class T>
CompiledReduction::Kernel kernel(ReduceOp op, bool single_values) {
  if (op == ReduceOp::sum) return kernel<T, Sum>(single_values);
  if constexpr (std::is_arithmetic_v<T>) {
    return op == ReduceOp::min ? kernel<T, Min>(single_values) : kernel<T, Max>(single_values);
  } else {
    fail(Fault::operation, op == ReduceOp::min ? "minimum" : "maximum",
         " of complex values: they have no order; use sum or replace");
  }
}

CompiledReduction::Kernel kernel(ReduceOp op, ElementType type, bool single_values) {
  switch (type) {
    case ElementType::int8: return kernel<std::int8_t>(op, single_values);
    case ElementType::int16: return kernel<std::int16_t>(op, single_values);
    case ElementType::int32: return kernel<std::int32_t>(op, single_values);
    case ElementType::int64: return kernel<std::int64_t>(op, single_values);
    case ElementType::uint8: return kernel<std::uint8_t>(op, single_values);
    case ElementType::uint16: return kernel<std::uint16_t>(op, single_values);
    case ElementType::uint32: return kernel<std::uint32_t>(op, single_values);
    case ElementType::uint64: return kernel<std::uint64_t>(op, single_values);
    case ElementType::float32: return kernel<float>(op, single_values);
    case ElementType::float64: return kernel<double>(op, single_values);
    case ElementType::complex64: return kernel<std::complex<float>>(op, single_values);
    case ElementType::complex128: return kernel<std::complex<double>>(op, single_values);
  }
  fail(Fault::internal, "element type ", static_cast<int>(type), " has no kernels");
}

}  // namespace

std::size_t bytes_of(ElementType type) {
  switch (type) {
    case ElementType::int8:
    case ElementType::uint8: return 1;
    case ElementType::int16:
    case ElementType::uint16: return 2;
    case ElementType::int32:
    case ElementType::uint32:
    case ElementType::float32: return 4;
    case ElementType::int64:
    case ElementType::uint64:
    case ElementType::float64:
    case ElementType::complex64: return 8;
    case ElementType::complex128: return 16;
  }
  fail(Fault::internal, "element type ", static_cast<int>(type), " has no size");
}

CompiledReduction compile_reduction(std::span<const CopyRun> runs, std::size_t element_bytes,
                                    ReduceOp op, ElementType type) {
  CompiledReduction result;
  if (op == ReduceOp::replace) {
    result.copy = compile(runs, element_bytes);
    result.kernel = replace;
    return result;
  }
  const std::size_t value_bytes = bytes_of(type);
  require(element_bytes % value_bytes == 0, Fault::type, "a reduction of elements of ",
          element_bytes, " bytes, which is no whole number of values of ", value_bytes, " bytes");
  const auto scale = static_cast<Index>(element_bytes);
  constexpr Index narrow = std::numeric_limits<std::int32_t>::max();
  bool single_values = true;
  for (const CopyRun& run : runs) {
    require(run.source >= 0 && run.target >= 0 && run.count >= 0, Fault::internal,
            "a reduction has a negative entry: source ", run.source, ", target ", run.target,
            ", count ", run.count);
    if (run.count == 0 || scale == 0) continue;
    const ByteRun piece{run.source * scale, run.target * scale, run.count * scale};
    single_values = single_values && piece.bytes == static_cast<Index>(value_bytes) &&
                    piece.source <= narrow && piece.target <= narrow;
    result.pieces.push_back(piece);
  }
  result.kernel = kernel(op, type, single_values);
  if (single_values) {
    for (const ByteRun& piece : result.pieces) {
      result.sources32.push_back(static_cast<std::int32_t>(piece.source));
      result.targets32.push_back(static_cast<std::int32_t>(piece.target));
    }
    result.pieces = {};
  }
  return result;
}

void reduce_runs(const std::byte* from, std::byte* to, std::span<const CopyRun> runs,
                 std::size_t element_bytes, ReduceOp op, ElementType type) {
  run(compile_reduction(runs, element_bytes, op, type), from, to);
}

}  // namespace vicinal
