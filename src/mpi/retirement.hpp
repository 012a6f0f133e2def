// Frees a private communicator that is no longer used on this rank. MPI lets a rank free a
// communicator at any time (the standard: "normally implemented to be local", and current MPIs do
// so). But a message still in transit would then arrive in a later communicator with the same
// number. MPICH also ends the program over a message that has arrived and was never received.
//
// So each rank begins a nonblocking barrier once it has nothing more to send there. Control
// messages that must not be lost count as sent when they are received. No rank waits for the
// barrier; a deferred task polls it. Ranks may release several communicators in any order and at
// any time. Messages to a rank that has released the communicator are received and discarded. When
// all ranks have released the communicator, it is freed.
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

/// Messages that have arrived without a receive, as after a fault on some ranks.
class UnreadMessages {
 public:
  UnreadMessages() = default;
  UnreadMessages(const UnreadMessages&) = delete;
  UnreadMessages& operator=(const UnreadMessages&) = delete;
  /// Leaves unfinished receives allocated, since MPI may write there.
  ~UnreadMessages();
  /// Receives all messages that have arrived on a communicator, whatever their tag. Returns true if
  /// all of them are complete.
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
  /// Takes over the communicator and its mailbox. `troubled` says that this rank has left exchanges
  /// that others were still in. Messages may have been sent to it that match no receive of its own.
  Retirement(MPI_Comm& communicator, std::unique_ptr<Mailbox>& mailbox, bool troubled) noexcept;
  /// Does what can be done now. Returns true once the communicator is freed, or can never be.
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
