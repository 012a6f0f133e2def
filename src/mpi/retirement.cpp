// One poll of a retiring communicator: finish the sends, begin the barrier, receive what arrives.
#include "mpi/retirement.hpp"

#include <exception>
#include <utility>

namespace vicinal::mpi {
namespace {

/// Time that a rank that left exchanges early keeps receiving after the barrier. A message sent
/// before its sender began the barrier has nearly always arrived when the barrier completes. Over a
/// network, it may have taken another route than the barrier.
constexpr auto linger = std::chrono::milliseconds(100);

}  // namespace

UnreadMessages::~UnreadMessages() {
  if (!unfinished_.empty()) new std::list<Message>(std::move(unfinished_));
}

bool UnreadMessages::take(MPI_Comm communicator) {
  while (auto arrival = improbe(communicator, MPI_ANY_TAG)) {
    Message& message = unfinished_.emplace_back();
    message.bytes.resize(static_cast<std::size_t>(arrival->bytes));
    message.request = ireceive(*arrival, message.bytes);
  }
  std::erase_if(unfinished_, [](Message& message) { return message.request.test(); });
  return unfinished_.empty();
}

Retirement::Retirement(MPI_Comm& communicator, std::unique_ptr<Mailbox>& mailbox,
                       bool troubled) noexcept
    : communicator_(std::exchange(communicator, MPI_COMM_NULL)),
      mailbox_(std::move(mailbox)),
      troubled_(troubled) {}

bool Retirement::poll() noexcept {
  try {
    return try_to_end();
  } catch (const std::exception&) {
    // No caller can receive the error. MPI cannot cancel the barrier.
    if (barrier_) new PendingOperation(std::move(*barrier_));
    return true;
  }
}

bool Retirement::try_to_end() {
  mailbox_->collect();
  const bool all_here = unread_.take(communicator_);
  if (!barrier_) {
    if (mailbox_->unsent() > 0) return false;
    barrier_ = ibarrier(communicator_);
  }
  if (!barrier_over_) {
    if (!barrier_->test()) return false;
    barrier_over_ = std::chrono::steady_clock::now();
    return false;  // a last poll for messages sent before the barrier
  }
  if (!all_here || (troubled_ && std::chrono::steady_clock::now() - *barrier_over_ < linger))
    return false;
  mailbox_->close();
  MPI_Comm_free(&communicator_);
  return true;
}

}  // namespace vicinal::mpi
