// Combination of a contribution with the value present, in a reverse execution. A built-in kernel
// does it for plain numbers, otherwise an MPI operator.
#pragma once

#include <mpi.h>

#include <cstddef>
#include <optional>
#include <vector>

#include "memory/kernels.hpp"

namespace vicinal {

struct Combine {
  ReduceOp op = ReduceOp::replace;
  ElementType type = ElementType::uint8;
  /// For any other operator or type, with `values` of `datatype` in each element. The caller keeps
  /// both alive as long as this is used.
  MPI_Op user_op = MPI_OP_NULL;
  MPI_Datatype datatype = MPI_DATATYPE_NULL;
  std::int64_t values = 1;

  friend bool operator==(const Combine&, const Combine&) = default;
};

/// A compiled list of reductions: target = target (op) source, in the order of the runs.
class CompiledCombine {
 public:
  CompiledCombine() = default;
  CompiledCombine(const std::vector<CopyRun>& runs, std::int64_t element_bytes,
                  const Combine& combine);
  void run(const std::byte* from, std::byte* to) const;

 private:
  std::optional<CompiledReduction> kernel_;
  std::vector<ByteRun> runs_;
  std::vector<int> counts_;
  MPI_Op op_ = MPI_OP_NULL;
  MPI_Datatype datatype_ = MPI_DATATYPE_NULL;
};

}  // namespace vicinal
