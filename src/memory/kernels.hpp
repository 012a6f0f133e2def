// Copy and reduction kernels. Packing and unpacking is most of the processor work of an execution,
// and halos are mostly single values scattered over an array. So a list of runs is compiled once,
// when a plan is bound, into the cheapest loop for it. Running it decides nothing and allocates
// nothing.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "base/runs.hpp"

namespace vicinal {

/// A range of bytes to move; offsets are relative to the two buffers.
struct ByteRun {
  std::int64_t source = 0;
  std::int64_t target = 0;
  std::int64_t bytes = 0;
};

/// A copy list in its fastest form. Offsets are in bytes.
struct CompiledRuns {
  enum class Form {
    nothing,  ///< no bytes
    block,    ///< one memcpy
    pack,     ///< words of equal size, scattered -> consecutive from `target` on
    unpack,   ///< words of equal size, consecutive from `source` on -> scattered
    scatter,  ///< words of equal size, scattered on both sides
    pieces,   ///< runs of unequal size, one memcpy each
  };
  Form form = Form::nothing;
  int word_bytes = 0;                              ///< 4, 8 or 16, for pack, unpack and scatter
  std::int64_t source = 0;                         ///< for block and unpack
  std::int64_t target = 0;                         ///< for block and pack
  std::int64_t bytes = 0;                          ///< moved in total
  std::vector<std::int32_t> sources32, targets32;  ///< 32 or 64 bits: 32 if all offsets fit
  std::vector<std::int64_t> sources64, targets64;
  std::vector<ByteRun> pieces;
};

/// Compiles a list of runs, counted in elements of `element_bytes`. If targets overlap, the last
/// run wins, as in the list. Throws an internal fault for a negative count or offset.
[[nodiscard]] CompiledRuns compile(std::span<const CopyRun> runs, std::size_t element_bytes);

/// Copies. The buffers must not overlap; either may be null if no bytes move.
void run(const CompiledRuns& runs, const std::byte* from, std::byte* to);

/// Copies once, without compiling: one memcpy per run.
void copy_runs(const std::byte* from, std::byte* to, std::span<const CopyRun> runs,
               std::size_t element_bytes);

enum class ReduceOp { replace, sum, min, max };

enum class ElementType {
  int8,
  int16,
  int32,
  int64,
  uint8,
  uint16,
  uint32,
  uint64,
  float32,
  float64,
  complex64,   ///< two float32
  complex128,  ///< two float64
};

[[nodiscard]] std::size_t bytes_of(ElementType type);

/// A list of `target = target op source`, in the order of the runs, hence bitwise reproducible.
struct CompiledReduction {
  using Kernel = void (*)(const CompiledReduction&, const std::byte* from, std::byte* to);
  Kernel kernel = nullptr;
  CompiledRuns copy;                               ///< for replace
  std::vector<std::int32_t> sources32, targets32;  ///< byte offsets, if every run is one value
  std::vector<ByteRun> pieces;                     ///< otherwise
};

/// Compiles a reduction of runs counted in elements of `element_bytes`, each with one or more
/// values of `type`. Throws an operation fault for min and max of complex values. Throws a type
/// fault if an element is not a whole number of values.
[[nodiscard]] CompiledReduction compile_reduction(std::span<const CopyRun> runs,
                                                  std::size_t element_bytes, ReduceOp op,
                                                  ElementType type);

/// Reduces. The buffers must not overlap.
inline void run(const CompiledReduction& runs, const std::byte* from, std::byte* to) {
  runs.kernel(runs, from, to);
}

/// Reduces once: compiles and runs.
void reduce_runs(const std::byte* from, std::byte* to, std::span<const CopyRun> runs,
                 std::size_t element_bytes, ReduceOp op, ElementType type);

}  // namespace vicinal
