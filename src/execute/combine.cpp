// Compiling reductions.
#include "execute/combine.hpp"

#include "base/error.hpp"
#include "mpi/collectives.hpp"

namespace vicinal {

CompiledCombine::CompiledCombine(const std::vector<CopyRun>& runs, std::int64_t element_bytes,
                                 const Combine& combine) {
  if (combine.user_op == MPI_OP_NULL) {
    kernel_ =
        compile_reduction(runs, static_cast<std::size_t>(element_bytes), combine.op, combine.type);
    return;
  }
  op_ = combine.user_op;
  datatype_ = combine.datatype;
  constexpr Index most = 1 << 24;  // elements per call, so that counts fit an int
  for (const CopyRun& run : runs) {
    for (Index done = 0; done < run.count; done += most) {
      const Index count = std::min(most, run.count - done);
      runs_.push_back({(run.source + done) * element_bytes, (run.target + done) * element_bytes,
                       count * element_bytes});
      require(count * combine.values <= 0x7fffffff, Fault::count, "an element of ", combine.values,
              " values is too large for an MPI operator");
      counts_.push_back(static_cast<int>(count * combine.values));
    }
  }
}

void CompiledCombine::run(const std::byte* from, std::byte* to) const {
  if (kernel_) {
    vicinal::run(*kernel_, from, to);
    return;
  }
  for (std::size_t i = 0; i < runs_.size(); ++i) {
    mpi::reduce_local(from + runs_[i].source, to + runs_[i].target, counts_[i], datatype_, op_);
  }
}

}  // namespace vicinal
