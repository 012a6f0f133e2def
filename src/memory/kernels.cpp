// The copy loops, and reductions over compiled runs. Most lists are single values at scattered
// places. For those, an array of offsets and a loop over words of a fixed size is several times
// faster than a memcpy per run. Offsets of 32 bits halve what the loop reads besides the data.
//
// Reductions combine operands in the order of the runs, so sums are bitwise reproducible. Values
// are loaded and stored through memcpy, since a message or an arena slot may not be aligned for its
// type.
#include "memory/kernels.hpp"

#include <algorithm>
#include <complex>
#include <cstring>
#include <limits>
#include <type_traits>

#include "base/error.hpp"

namespace vicinal {

namespace {

using Form = CompiledRuns::Form;

/// Maximum number of words per run, on average, for a list of words. Beyond it the offset arrays
/// cost more than the calls to memcpy.
constexpr std::int64_t words_per_run = 4;

std::vector<ByteRun> in_bytes(std::span<const CopyRun> runs, std::size_t element_bytes) {
  constexpr Index limit = std::numeric_limits<Index>::max() / 4;
  const auto scale = static_cast<Index>(element_bytes);
  std::vector<ByteRun> result;
  for (const CopyRun& run : runs) {
    require(run.source >= 0 && run.target >= 0 && run.count >= 0, Fault::internal,
            "a copy list has a negative entry: source ", run.source, ", target ", run.target,
            ", count ", run.count);
    if (run.count == 0 || scale == 0) continue;
    require(std::max({run.source, run.target, run.count}) <= limit / scale, Fault::count,
            "a copy of ", run.count, " elements of ", element_bytes,
            " bytes reaches beyond the range of 64-bit addresses");
    const ByteRun next{run.source * scale, run.target * scale, run.count * scale};
    if (!result.empty()) {
      ByteRun& last = result.back();
      if (last.source + last.bytes == next.source && last.target + last.bytes == next.target) {
        last.bytes += next.bytes;
        continue;
      }
    }
    result.push_back(next);
  }
  return result;
}

/// Returns the largest word size that divides all runs without too many words; 0 if there is none.
int word_size(std::span<const ByteRun> runs, std::int64_t bytes) {
  for (const int word : {16, 8, 4}) {
    const bool divides = std::all_of(runs.begin(), runs.end(),
                                     [&](const ByteRun& run) { return run.bytes % word == 0; });
    if (divides && bytes / word <= words_per_run * static_cast<std::int64_t>(runs.size())) {
      return word;
    }
  }
  return 0;
}

bool consecutive(std::span<const ByteRun> runs, std::int64_t ByteRun::* side) {
  std::int64_t next = runs.front().*side;
  for (const ByteRun& run : runs) {
    if (run.*side != next) return false;
    next += run.bytes;
  }
  return true;
}

/// Lists the offset of every word on one side, in 32 bits if `narrow`.
void list_offsets(std::span<const ByteRun> runs, std::int64_t ByteRun::* side, int word,
                  bool narrow, std::vector<std::int32_t>& small, std::vector<std::int64_t>& large) {
  for (const ByteRun& run : runs) {
    for (std::int64_t done = 0; done < run.bytes; done += word) {
      if (narrow) {
        small.push_back(static_cast<std::int32_t>(run.*side + done));
      } else {
        large.push_back(run.*side + done);
      }
    }
  }
  small.shrink_to_fit();
  large.shrink_to_fit();
}

bool fits_32_bits(std::span<const ByteRun> runs) {
  return std::all_of(runs.begin(), runs.end(), [](const ByteRun& run) {
    constexpr std::int64_t limit = std::numeric_limits<std::int32_t>::max();
    return run.source + run.bytes <= limit && run.target + run.bytes <= limit;
  });
}

template <int word, class Offset>
void pack_words(const std::vector<Offset>& sources, const std::byte* from, std::byte* to) {
  const Offset* offset = sources.data();
  const std::size_t count = sources.size();
  for (std::size_t i = 0; i < count; ++i) {
    std::memcpy(to + i * word, from + offset[i], word);
  }
}

template <int word, class Offset>
void unpack_words(const std::vector<Offset>& targets, const std::byte* from, std::byte* to) {
  const Offset* offset = targets.data();
  const std::size_t count = targets.size();
  for (std::size_t i = 0; i < count; ++i) {
    std::memcpy(to + offset[i], from + i * word, word);
  }
}

template <int word, class Offset>
void scatter_words(const std::vector<Offset>& sources, const std::vector<Offset>& targets,
                   const std::byte* from, std::byte* to) {
  const std::size_t count = sources.size();
  for (std::size_t i = 0; i < count; ++i) {
    std::memcpy(to + targets[i], from + sources[i], word);
  }
}

template <int word, class Offset>
void run_words(Form form, const std::vector<Offset>& sources, const std::vector<Offset>& targets,
               const std::byte* from, std::byte* to) {
  if (form == Form::pack) return pack_words<word>(sources, from, to);
  if (form == Form::unpack) return unpack_words<word>(targets, from, to);
  scatter_words<word>(sources, targets, from, to);
}

template <int word>
void run_words(const CompiledRuns& runs, const std::byte* from, std::byte* to) {
  if (runs.form == Form::pack) to += runs.target;
  if (runs.form == Form::unpack) from += runs.source;
  if (runs.sources32.empty() && runs.targets32.empty()) {
    run_words<word>(runs.form, runs.sources64, runs.targets64, from, to);
  } else {
    run_words<word>(runs.form, runs.sources32, runs.targets32, from, to);
  }
}

}  // namespace

CompiledRuns compile(std::span<const CopyRun> runs, std::size_t element_bytes) {
  CompiledRuns result;
  std::vector<ByteRun> pieces = in_bytes(runs, element_bytes);
  if (pieces.empty()) return result;
  for (const ByteRun& piece : pieces) result.bytes += piece.bytes;
  result.source = pieces.front().source;
  result.target = pieces.front().target;
  if (pieces.size() == 1) {
    result.form = Form::block;
    return result;
  }
  result.word_bytes = word_size(pieces, result.bytes);
  if (result.word_bytes == 0) {
    result.form = Form::pieces;
    result.pieces = std::move(pieces);
    return result;
  }
  result.form = consecutive(pieces, &ByteRun::target)   ? Form::pack
                : consecutive(pieces, &ByteRun::source) ? Form::unpack
                                                        : Form::scatter;
  const bool narrow = fits_32_bits(pieces);
  if (result.form != Form::unpack) {
    list_offsets(pieces, &ByteRun::source, result.word_bytes, narrow, result.sources32,
                 result.sources64);
  }
  if (result.form != Form::pack) {
    list_offsets(pieces, &ByteRun::target, result.word_bytes, narrow, result.targets32,
                 result.targets64);
  }
  return result;
}

void run(const CompiledRuns& runs, const std::byte* from, std::byte* to) {
  switch (runs.form) {
    case Form::nothing: return;
    case Form::block:
      std::memcpy(to + runs.target, from + runs.source, static_cast<std::size_t>(runs.bytes));
      return;
    case Form::pieces:
      for (const ByteRun& piece : runs.pieces) {
        std::memcpy(to + piece.target, from + piece.source, static_cast<std::size_t>(piece.bytes));
      }
      return;
    case Form::pack:
    case Form::unpack:
    case Form::scatter:
      if (runs.word_bytes == 8) return run_words<8>(runs, from, to);
      if (runs.word_bytes == 4) return run_words<4>(runs, from, to);
      return run_words<16>(runs, from, to);
  }
}

void copy_runs(const std::byte* from, std::byte* to, std::span<const CopyRun> runs,
               std::size_t element_bytes) {
  const auto scale = static_cast<Index>(element_bytes);
  for (const CopyRun& run : runs) {
    if (run.count == 0 || scale == 0) continue;
    std::memcpy(to + run.target * scale, from + run.source * scale,
                static_cast<std::size_t>(run.count * scale));
  }
}

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
