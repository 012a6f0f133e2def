// What a user starts and waits for: a blocking or nonblocking call (call.hpp), or executions of a plan
// (execution_request.hpp), those of a persistent collective or of a halo. They differ in how they begin, how
// they go on, and what is done with what has come; the rest stands here.
#pragma once

#include <mpi.h>

#include <cstdint>
#include <exception>
#include <iosfwd>
#include <memory>
#include <optional>
#include <span>
#include <utility>

#include "collectives/handle.hpp"
#include "mpi/communicator.hpp"

namespace vicinal {

/// Whose a request is, and for how long.
enum class Ownership : std::uint8_t {
  persistent,  ///< the user's, to be started again and again until freed
  single_use,  ///< the user's until its one execution is complete; then freed
  borrowed,    ///< somebody else's; the user forgets it when an execution is complete
};

class Request {
 public:
  Request(std::shared_ptr<mpi::Communicator> communicator, Ownership ownership)
      : communicator_(std::move(communicator)), ownership_(ownership) {}
  Request(const Request&) = delete;
  Request& operator=(const Request&) = delete;
  /// Waits for an execution that is in flight.
  virtual ~Request() = default;

  /// Begins an execution. Local. A request fault where one is in flight, or where this request cannot
  /// be started by itself.
  virtual void start() = 0;
  /// True where none is in flight (any more). Progresses whatever is active. Throws what the execution has
  /// failed with, which is over then. Whoever tests in a loop gives the core to others, where ranks share cores.
  bool test();
  /// The same for passes over all requests, and for those that pause themselves.
  bool look();
  /// Polls until that is so. Throws as test().
  void wait();
  /// The same, but what the GPU has still to do in the target need not be over yet: what is put on that stream of the GPU from then on
  /// comes after it. Requests that are not of a plan are waited for.
  void wait_on(std::uintptr_t stream);
  [[nodiscard]] virtual bool in_flight() const = 0;
  /// Partitions `first` to `last` of what goes to an entry of the user's arrays may be sent. From any
  /// thread, without a lock and without waiting. A request fault where there are no partitions.
  virtual void mark_ready(int neighbor, int first, int last);
  /// Whether a partition of what comes from an entry may be read; progresses whatever is active where it may
  /// not, and gives the core to others as test(). Throws as test(), but leaves the execution to be waited for.
  virtual bool has_arrived(int neighbor, int partition);
  /// Goes on with a sentence: what it waits for. Of one in flight.
  virtual void name_awaited(std::ostream& out) const = 0;
  [[nodiscard]] Ownership ownership() const { return ownership_; }
  /// In the C interface: from the first time that somebody asks until the request ends.
  [[nodiscard]] std::uintptr_t handle();
  /// The user has set theirs to null: copies of it are no handles any more.
  void renew_handle() noexcept {
    if (handle_) handle_->renew();
  }
  /// Whose error handler hears of faults.
  [[nodiscard]] MPI_Comm error_communicator() const { return communicator_->error_communicator(); }
  [[nodiscard]] mpi::Communicator& communicator() const { return *communicator_; }

 private:
  /// Of one in flight: does what can be done now; true once it is complete.
  virtual bool advance() = 0;
  /// The same until it is complete, progressing whatever is active.
  virtual void finish() = 0;
  virtual void finish_on(std::uintptr_t) { finish(); }

  std::shared_ptr<mpi::Communicator> communicator_;
  Ownership ownership_;
  std::optional<Handle> handle_;
};

/// What waiting for any of several requests came to.
struct Found {
  int position = -1;         ///< of the one that has ended; -1 where none is in flight
  std::exception_ptr fault;  ///< with which it has ended, if it has failed
};

/// Waits until one of the requests that are in flight has ended, progressing all. Null entries are
/// passed over.
[[nodiscard]] Found wait_any(std::span<Request* const> requests);

}  // namespace vicinal
