// What is kept with a communicator of the user's until that is freed: the library's own communicator and, by whoever comes before
// the program, one object for its exchanges among neighbours and one for those of all its ranks.
//
// MPI may call the attributes' functions from inside any of its own: MPICH deletes a communicator in the wait that
// completes the last operation on it, with its lock held. So they call nothing of MPI's. What is to be done is left as a deferred task.
#pragma once

#include <mpi.h>

#include <cstdint>
#include <memory>

#include "mpi/chores.hpp"

namespace vicinal::mpi {

class Attachment {
 public:
  Attachment() = default;
  Attachment(const Attachment&) = delete;
  Attachment& operator=(const Attachment&) = delete;
  virtual ~Attachment() = default;
  /// What a duplicate is to have that MPI is making now; null: nothing. Called by MPI. What it takes is there already: a rank
  /// cannot fail in it alone.
  [[nodiscard]] virtual std::unique_ptr<Attachment> for_duplicate() noexcept { return nullptr; }
  /// The communicator is freed: from now on it may not be used. A deferred task destroys the attachment.
  void let_go() noexcept {
    forget_communicator();
    removal_.leave();
  }

 private:
  /// Called by MPI.
  virtual void forget_communicator() noexcept {}

  Chore removal_{[this] {
    delete this;
    return true;
  }};
};

/// What it is for.
enum class Attached : std::uint8_t { neighbors, all_ranks, own_communicator };

/// Attaches it, in the place of one that is there for the same. Duplicates of the communicator have what it says. Polls some deferred
/// tasks: attachments of communicators that the program has freed are among them.
void attach(MPI_Comm user, Attached of, std::unique_ptr<Attachment> what);
/// Takes away what is attached, if anything is.
void detach(MPI_Comm user, Attached of) noexcept;
/// Nothing is attached any more, and MPI may end and begin again, with keys of its own; else nothing is done.
void forget_keys() noexcept;
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
