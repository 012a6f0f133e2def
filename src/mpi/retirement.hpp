// Freeing the private communicator of one that nobody on this rank uses any more. MPI lets a rank free a
// communicator when it likes ("normally implemented to be local", and it is in the MPIs in use), but a
// message that is still under way then would turn up in a communicator that MPI makes later under the
// same number; and MPICH ends the program over one that has arrived and was never received.
//
// So each rank, once it has nothing more to say there, begins a nonblocking barrier: letters that must
// not be lost count as said when they are received. Nobody waits for it; it is polled as a chore. Ranks
// may let go of several communicators in any order, and as far apart as they like. What comes for a rank
// that has let go is taken in and forgotten. When all ranks have let go, the communicator is freed.
#pragma once

#include <mpi.h>

#include <chrono>
#include <cstddef>
#include <list>
#include <memory>
#include <optional>
#include <vector>

#include "mpi/collectives.hpp"
#include "mpi/mailbox.hpp"

namespace vicinal::mpi {

/// Messages that have arrived for nobody, as after a fault on some ranks.
class UnreadMessages {
 public:
  UnreadMessages() = default;
  UnreadMessages(const UnreadMessages&) = delete;
  UnreadMessages& operator=(const UnreadMessages&) = delete;
  /// What is still being received stays allocated, since MPI may write there.
  ~UnreadMessages();
  /// Receives what has arrived on a communicator, whatever its tag. True where all of it is here.
  bool take(MPI_Comm communicator);

 private:
  struct Message {
    std::vector<std::byte> bytes;
    PendingOperation request;
  };
  std::list<Message> unfinished_;
};

class Retirement {
 public:
  /// Takes the communicator and its mailbox over. `troubled`: this rank has left exchanges that others were still in, so
  /// messages may have been sent to it that no receive of its own has met.
  Retirement(MPI_Comm& communicator, std::unique_ptr<Mailbox>& mailbox, bool troubled) noexcept;
  /// Does what can be done now. True once the communicator is freed, or can never be.
  bool poll() noexcept;

 private:
  bool try_to_end();

  MPI_Comm communicator_;
  std::unique_ptr<Mailbox> mailbox_;
  bool troubled_;
  UnreadMessages unread_;
  std::optional<PendingOperation> barrier_;
  std::optional<std::chrono::steady_clock::time_point> barrier_over_;
};

}  // namespace vicinal::mpi
