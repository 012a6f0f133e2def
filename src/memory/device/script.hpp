// What a job on a device's memory does, step by step, made from its runs before it is known where the buffers lie.
// Both sides on the device: a kernel. One side the host's: what is scattered on the device is gathered into consecutive
// memory there, and crosses in one copy; what is scattered on the host goes by way of pinned memory,
// which the processor packs or unpacks. Without kernels, each run crosses by a copy of its own, and
// the processor reduces in pinned memory.
//
// Steps take place in order; one of the processor's waits for those of the device before it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <variant>
#include <vector>

#include "memory/kernels.hpp"
#include "memory/kind.hpp"

namespace vicinal::device {

/// Where a step reads or writes: the job's two buffers, or memory of its own on the device or the host.
enum class Part : std::uint8_t { from, to, scratch, pinned };

struct Spot {
  Part part = Part::from;
  std::int64_t offset = 0;  ///< in bytes
};

/// A copy of the driver's, or a kernel's in its place.
struct Transfer {
  Spot from, to;
  std::size_t bytes = 0;
  bool by_kernel = false;  ///< a kernel could do it as well
};

/// Words of equal size, by kernel copy_words_P_O for the largest part P that all is aligned for.
struct MoveWords {
  Spot from, to;
  int word_bytes = 0;
  int offset_bits = 32;
  std::int64_t alignment = 1;  ///< of all offsets, a power of two
  std::int64_t sources = -1;   ///< where the lists begin in the script's tables; -1 for none
  std::int64_t targets = -1;
  std::size_t count = 0;
};

/// Runs of unequal size, by kernel copy_pieces_P.
struct MovePieces {
  Spot from, to;
  std::int64_t alignment = 1;  ///< of all offsets and sizes
  std::int64_t pieces = -1;
  std::size_t count = 0;
};

/// By kernel reduce_OP_TYPE.
struct ReduceValues {
  Spot from, to;
  std::string kernel;
  int value_bytes = 0;
  std::int64_t targets = -1, starts = -1, sources = -1;
  std::size_t count = 0;
};

/// The processor's.
struct HostCopy {
  Spot from, to;
  CompiledRuns runs;
};
struct HostReduction {
  Spot from, to;
  CompiledReduction runs;
};

using Step = std::variant<Transfer, MoveWords, MovePieces, ReduceValues, HostCopy, HostReduction>;

struct Script {
  std::vector<Step> steps;
  std::vector<std::byte>
      tables;  ///< what kernels read besides data; on the device before the first step
  std::size_t scratch_bytes = 0;
  std::size_t pinned_bytes = 0;
};

/// Copies as compile() of memory/kernels.hpp does; so do targets that overlap.
[[nodiscard]] Script copy_script(std::span<const CopyRun> runs, std::size_t element_bytes,
                                 Sides inside, bool kernels);
/// Reductions as compile_reduction() does, faults included, other than replace, which is a copy.
[[nodiscard]] Script reduction_script(std::span<const CopyRun> runs, std::size_t element_bytes,
                                      ReduceOp op, ElementType type, Sides inside, bool kernels);

}  // namespace vicinal::device
