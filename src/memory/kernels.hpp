// Packing and unpacking is most of what the run side does by itself, and halos are mostly single
// values scattered over an array. A list of runs is therefore compiled once, when a plan is bound,
// into the cheapest loop that does it; running it decides nothing and allocates nothing.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "base/runs.hpp"

namespace vicinal {

/// A stretch of bytes to move; offsets are relative to the two buffers.
struct ByteRun {
  std::int64_t source = 0;
  std::int64_t target = 0;
  std::int64_t bytes = 0;
};

/// A copy list in the form that runs fastest. Offsets are in bytes.
struct CompiledRuns {
  enum class Form {
    nothing,  ///< no bytes at all
    block,    ///< one memcpy
    pack,     ///< words of equal size, scattered -> consecutive from `target` on
    unpack,   ///< words of equal size, consecutive from `source` on -> scattered
    scatter,  ///< words of equal size, scattered on both sides
    pieces,   ///< runs of unequal size, one memcpy each
  };
  Form form = Form::nothing;
  int word_bytes = 0;                              ///< 4, 8 or 16, for pack, unpack and scatter
  std::int64_t source = 0;                         ///< of block and unpack
  std::int64_t target = 0;                         ///< of block and pack
  std::int64_t bytes = 0;                          ///< moved in all
  std::vector<std::int32_t> sources32, targets32;  ///< one pair is used, the narrow where it fits
  std::vector<std::int64_t> sources64, targets64;
  std::vector<ByteRun> pieces;
};

/// Compiles a list of runs counted in elements of `element_bytes`. Where targets overlap, the last
/// run wins, as in the list. Throws an internal fault for a negative count or offset.
[[nodiscard]] CompiledRuns compile(std::span<const CopyRun> runs, std::size_t element_bytes);

/// Copies. The buffers must not overlap; either may be null when no bytes move.
void run(const CompiledRuns& runs, const std::byte* from, std::byte* to);

/// Copies once, without compiling: one memcpy for each run.
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

/// A list of `target = target op source`, in the order of the runs, hence reproducible to the bit.
struct CompiledReduction {
  using Kernel = void (*)(const CompiledReduction&, const std::byte* from, std::byte* to);
  Kernel kernel = nullptr;
  CompiledRuns copy;                               ///< for replace
  std::vector<std::int32_t> sources32, targets32;  ///< byte offsets where every run is one value
  std::vector<ByteRun> pieces;                     ///< otherwise
};

/// Compiles a reduction of runs counted in elements of `element_bytes`, each holding one or more
/// values of `type`. Throws an operation fault for min and max of complex values, and a type fault
/// where an element is no whole number of values.
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
