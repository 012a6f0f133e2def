// What is kept with a communicator of the user's until that is freed, by whoever comes before the program: one object for
// its exchanges among neighbours, one for those of all its ranks.
#pragma once

#include <mpi.h>

#include <cstdint>
#include <memory>

namespace vicinal::mpi {

class Attachment {
 public:
  Attachment() = default;
  Attachment(const Attachment&) = delete;
  Attachment& operator=(const Attachment&) = delete;
  virtual ~Attachment() = default;
  /// What a duplicate is to have that MPI is making now; null: nothing. Local. What it takes is there already, or
  /// is waited for: a rank cannot fail in it alone.
  [[nodiscard]] virtual std::unique_ptr<Attachment> for_duplicate() noexcept { return nullptr; }
};

/// What it is for.
enum class Attached : std::uint8_t { neighbors, all_ranks };

/// Attaches it, in the place of one that is there for the same. Duplicates of the communicator have what it says.
void attach(MPI_Comm user, Attached of, std::unique_ptr<Attachment> what);
/// Takes away what is attached, if anything is.
void detach(MPI_Comm user, Attached of) noexcept;
/// Null where nothing is attached, or there is no such communicator. Costs next to nothing before the first
/// attach() of the process for the same.
[[nodiscard]] Attachment* attached(MPI_Comm user, Attached of) noexcept;

/// Whether both have the same ranks in the same order. Local.
[[nodiscard]] bool same_ranks(MPI_Comm a, MPI_Comm b);
/// Whether it is one between two groups. Local.
[[nodiscard]] bool between_groups(MPI_Comm user);
/// How many ranks there are; of one between two groups, in the other one. Local.
[[nodiscard]] int size_of_other_group(MPI_Comm user);
/// What the ranks of a communicator find out about it.
struct Surroundings {
  bool one_host = false;  ///< all run on one host, and no rank `objects`
  std::int64_t most = 0;  ///< the largest of what each gives
};
/// Collective over `user`, by MPI's own allreduce on it; progresses what is active meanwhile.
[[nodiscard]] Surroundings look_around(MPI_Comm user, bool objects, std::int64_t mine = 0);

}  // namespace vicinal::mpi
