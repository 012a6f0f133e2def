// How a reverse execution combines a contribution with what is there: by a built-in kernel where the
// element type is known to be a plain number, else by an MPI operator.
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
  /// For any other operator or type: these, which must live as long as it is used, with `values` of `datatype` in each element.
  MPI_Op user_op = MPI_OP_NULL;
  MPI_Datatype datatype = MPI_DATATYPE_NULL;
  std::int64_t values = 1;

  friend bool operator==(const Combine&, const Combine&) = default;
};

/// A reduction list ready to run: target = target (op) source, in the order of the runs.
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
