// What is kept with a communicator of the user's until that is freed: one object of whoever comes before the program.
#pragma once

#include <mpi.h>

#include <memory>

namespace vicinal::mpi {

class Attachment {
 public:
  Attachment() = default;
  Attachment(const Attachment&) = delete;
  Attachment& operator=(const Attachment&) = delete;
  virtual ~Attachment() = default;
};

/// Attaches it, in the place of one that is there. Duplicates of the communicator do not have it.
void attach(MPI_Comm user, std::unique_ptr<Attachment> what);
/// Null where nothing is attached, or there is no such communicator. Costs next to nothing before the first
/// attach() of the process.
[[nodiscard]] Attachment* attached(MPI_Comm user) noexcept;

/// Whether both have the same ranks in the same order. Local.
[[nodiscard]] bool same_ranks(MPI_Comm a, MPI_Comm b);
/// Whether it is one between two groups. Local.
[[nodiscard]] bool between_groups(MPI_Comm user);
/// Whether all ranks run on one host, and none `objects`. Collective over `user`, by MPI's own allreduce on it; progresses
/// what is active meanwhile.
[[nodiscard]] bool on_one_host(MPI_Comm user, bool objects);

}  // namespace vicinal::mpi
