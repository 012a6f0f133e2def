// What a user starts and waits for.
#pragma once

#include <mpi.h>

#include <cstdint>
#include <exception>
#include <iosfwd>
#include <span>

namespace vicinal {

/// Whose a request is, and for how long.
enum class Ownership : std::uint8_t {
  persistent,  ///< the user's, to be started again and again until freed
  single_use,  ///< the user's until its one execution is complete; then freed
  borrowed,    ///< somebody else's; the user forgets it when an execution is complete
};

class Request {
 public:
  Request() = default;
  Request(const Request&) = delete;
  Request& operator=(const Request&) = delete;
  /// Waits for an execution that is in flight.
  virtual ~Request() = default;

  /// Begins an execution. Local. A request fault where one is in flight, or where this request cannot
  /// be started by itself.
  virtual void start() = 0;
  /// True where none is in flight (any more).
  virtual bool test() = 0;
  virtual void wait() = 0;
  [[nodiscard]] virtual bool in_flight() const = 0;
  /// Goes on with a sentence: what it waits for. Of one in flight.
  virtual void name_awaited(std::ostream& out) const = 0;
  [[nodiscard]] virtual Ownership ownership() const = 0;
  /// Whose error handler hears of faults.
  [[nodiscard]] virtual MPI_Comm error_communicator() const = 0;
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
