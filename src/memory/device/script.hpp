// The steps of a job on device memory, made from its runs before the addresses of the buffers are
// known. If both sides lie on the device, one kernel moves the data. If one side lies on the host,
// scattered data on the device are gathered there, and cross in one copy. Scattered data on the
// host go through pinned memory, which the processor packs or unpacks. Without kernels, each run
// crosses in its own copy, and the processor reduces in pinned memory.
//
// Steps run in order; a step of the processor waits for the device's steps before it.
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

/// Memory that a step reads or writes: one of the job's two buffers, or the job's own memory on the
/// device or the host.
enum class Part : std::uint8_t { from, to, scratch, pinned };

struct Spot {
  Part part = Part::from;
  std::int64_t offset = 0;  ///< in bytes
};

/// A copy by the driver, or by a kernel instead.
struct Transfer {
  Spot from, to;
  std::size_t bytes = 0;
  bool by_kernel = false;  ///< a kernel can do it instead
};

/// Words of equal size, by kernel copy_words_P_O for the largest part P that all are aligned for.
struct MoveWords {
  Spot from, to;
  int word_bytes = 0;
  int offset_bits = 32;
  std::int64_t alignment = 1;  ///< of all offsets, a power of two
  std::int64_t sources = -1;   ///< place of the list in the script's tables; -1 for none
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

/// Executed by kernel reduce_OP_TYPE.
struct ReduceValues {
  Spot from, to;
  std::string kernel;
  int value_bytes = 0;
  std::int64_t targets = -1, starts = -1, sources = -1;
  std::size_t count = 0;
};

/// Executed by the processor.
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

/// Makes copies with the result of compile() in memory/kernels.hpp, also if targets overlap.
[[nodiscard]] Script copy_script(std::span<const CopyRun> runs, std::size_t element_bytes,
                                 Sides inside, bool kernels);
/// Makes reductions with the result and the faults of compile_reduction(); `op` must not be
/// replace, which is a copy.
[[nodiscard]] Script reduction_script(std::span<const CopyRun> runs, std::size_t element_bytes,
                                      ReduceOp op, ElementType type, Sides inside, bool kernels);

}  // namespace vicinal::device
