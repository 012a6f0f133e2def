// Requests, which a user starts and waits for. A request is a blocking or nonblocking call
// (call.hpp), or executes a plan (execution_request.hpp), for a persistent collective or a halo.
// Derived classes differ in how they begin, progress and deliver data. This class holds what they
// have in common.
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

/// Owner of a request, and its lifetime.
enum class Ownership : std::uint8_t {
  persistent,  ///< the user's, who starts it again and again until freeing it
  single_use,  ///< the user's until its one execution is complete, then freed
  borrowed,    ///< another object's; the user forgets it when an execution is complete
};

class Request {
 public:
  Request(std::shared_ptr<mpi::Communicator> communicator, Ownership ownership)
      : communicator_(std::move(communicator)), ownership_(ownership) {}
  Request(const Request&) = delete;
  Request& operator=(const Request&) = delete;
  /// Derived classes wait for an execution that is in flight.
  virtual ~Request() = default;

  /// Begins an execution. Local. Throws a request fault if one is in flight, or if this request
  /// cannot be started by itself.
  virtual void start() = 0;
  /// Returns whether no execution is in flight (any more). If one is, progresses all activities,
  /// and yields the core if ranks share cores. Throws the error of a failed execution, which is
  /// over then.
  bool test();
  /// As test(), without yielding the core: for callers that pause themselves.
  bool look();
  /// As look(), but progresses this request alone: for callers that progress all activities.
  bool poll();
  /// Polls until no execution is in flight. Throws as test().
  void wait();
  /// As wait(), but the GPU's pending work on the target need not be complete. Work that is added
  /// to `stream` from then on follows it. Waits fully for requests without a plan.
  void wait_on(std::uintptr_t stream);
  [[nodiscard]] virtual bool in_flight() const = 0;
  /// Marks partitions `first` to `last` for an entry of the user's arrays as ready to send. Any
  /// thread may call it; it takes no lock and never waits. Throws a request fault if there are no
  /// partitions.
  virtual void mark_ready(int neighbor, int first, int last);
  /// Returns whether a partition from an entry may be read. If not, progresses all activities and
  /// yields the core as test(). Throws as test(), but the caller must still wait for the execution.
  virtual bool has_arrived(int neighbor, int partition);
  /// Writes what it waits for, as the end of a sentence. An execution must be in flight.
  virtual void name_awaited(std::ostream& out) const = 0;
  [[nodiscard]] Ownership ownership() const { return ownership_; }
  /// Handle in the C interface, from the first call of this until the request ends.
  [[nodiscard]] std::uintptr_t handle();
  /// Changes the handle, since the user has set theirs to null: copies of the old one are no
  /// handles any more.
  void renew_handle() noexcept {
    if (handle_) handle_->renew();
  }
  /// Communicator whose error handler receives faults.
  [[nodiscard]] MPI_Comm error_communicator() const { return communicator_->error_communicator(); }
  [[nodiscard]] mpi::Communicator& communicator() const { return *communicator_; }

 private:
  /// Does what can be done now for the execution in flight; returns whether it is complete.
  virtual bool advance() = 0;
  /// As advance(), until the execution is complete; progresses all activities.
  virtual void finish() = 0;
  virtual void finish_on(std::uintptr_t) { finish(); }

  std::shared_ptr<mpi::Communicator> communicator_;
  Ownership ownership_;
  std::optional<Handle> handle_;
};

/// Result of waiting for any of several requests.
struct Found {
  int position = -1;         ///< of the request that has ended; -1 if none is in flight
  std::exception_ptr fault;  ///< error with which it has ended, or null
};

/// Waits until one of the requests in flight has ended, and progresses all of them. Ignores null
/// entries.
[[nodiscard]] Found wait_any(std::span<Request* const> requests);

}  // namespace vicinal
