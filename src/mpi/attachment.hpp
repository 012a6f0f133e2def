// Objects kept with a user's communicator until it is freed. They are the library's own
// communicator and, under the preload library, one object for neighborhood exchanges and one for
// exchanges of all ranks.
//
// MPI may call the attribute callbacks from inside any of its functions. MPICH deletes a
// communicator in the wait that completes the last operation on it, while it holds its lock. So the
// callbacks call no MPI function. They leave the work as a deferred task.
#pragma once

#include <mpi.h>

#include <cstdint>
#include <memory>

#include "mpi/deferred.hpp"

namespace vicinal::mpi {

class Attachment {
 public:
  Attachment() = default;
  Attachment(const Attachment&) = delete;
  Attachment& operator=(const Attachment&) = delete;
  virtual ~Attachment() = default;
  /// Returns the attachment for a duplicate that MPI is creating now; null for none. Called by MPI.
  /// Uses memory allocated beforehand, so that a rank cannot fail in it alone.
  [[nodiscard]] virtual std::unique_ptr<Attachment> for_duplicate() noexcept { return nullptr; }
  /// Called when the communicator is freed: it may not be used from now on. A deferred task
  /// destroys the attachment.
  void let_go() noexcept {
    forget_communicator();
    removal_.leave();
  }

 private:
  /// Called by MPI.
  virtual void forget_communicator() noexcept {}

  DeferredTask removal_{[this] {
    delete this;
    return true;
  }};
};

/// Purpose of an attachment.
enum class Attached : std::uint8_t { neighbors, all_ranks, own_communicator };

/// Attaches `what`, and replaces an attachment for the same purpose. Duplicates of the communicator
/// get what for_duplicate() returns. Polls some deferred tasks: attachments of communicators that
/// the program has freed are among them.
void attach(MPI_Comm user, Attached of, std::unique_ptr<Attachment> what);
/// Removes the attachment, if there is one.
void detach(MPI_Comm user, Attached of) noexcept;
/// Forgets the attribute keys, so that MPI may end and begin again with new keys. Does nothing
/// while anything is attached.
void forget_keys() noexcept;
/// Returns the attachment; null if there is none, or no such communicator. Costs next to nothing
/// before the process's first attach() for this purpose.
[[nodiscard]] Attachment* attached(MPI_Comm user, Attached of) noexcept;

/// Returns whether both have the same ranks in the same order. Local.
[[nodiscard]] bool same_ranks(MPI_Comm a, MPI_Comm b);
/// Returns whether it is an inter-communicator. Local.
[[nodiscard]] bool between_groups(MPI_Comm user);
/// Returns the number of ranks; of an inter-communicator, that of the remote group. Local.
[[nodiscard]] int size_of_other_group(MPI_Comm user);
/// Properties of a communicator that its ranks determine together.
struct Surroundings {
  bool one_host = false;  ///< all run on one host, and no rank `objects`
  std::int64_t most = 0;  ///< largest `mine` of all ranks
};
/// Collective over `user`, by MPI's own allreduce on it; progresses active plans while it waits.
[[nodiscard]] Surroundings look_around(MPI_Comm user, bool objects, std::int64_t mine = 0);

}  // namespace vicinal::mpi
