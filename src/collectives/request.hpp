// What a user starts and waits for.
#pragma once

#include <mpi.h>

#include <span>

namespace vicinal {

class Request {
 public:
  Request() = default;
  Request(const Request&) = delete;
  Request& operator=(const Request&) = delete;
  virtual ~Request() = default;

  /// Begins an execution. Local. A request fault where one is in flight, or where this request cannot
  /// be started by itself.
  virtual void start() = 0;
  /// True where none is in flight (any more).
  virtual bool test() = 0;
  virtual void wait() = 0;
  [[nodiscard]] virtual bool in_flight() const = 0;
  /// Whether it stays after an execution, to be started again and freed.
  [[nodiscard]] virtual bool persistent() const = 0;
  /// Whose error handler hears of faults.
  [[nodiscard]] virtual MPI_Comm user() const = 0;
};

/// Waits until one of the requests that are in flight is complete, progressing all; its position, or
/// -1 where none is in flight. Null entries are passed over.
int wait_any(std::span<Request* const> requests);

}  // namespace vicinal
