// Events outside of a plan's executions: those that an execution waits for (triggers), and those
// that it causes (notifications). An execution calls with its lock held. Events may happen in any
// thread, without that lock.
#pragma once

#include <iosfwd>

namespace vicinal {

class Events {
 public:
  Events() = default;
  Events(const Events&) = delete;
  Events& operator=(const Events&) = delete;
  virtual ~Events() = default;

  /// Returns an event that has happened in this execution, each once; -1 if there is none now.
  virtual int next() noexcept = 0;
  /// Makes the data of an event readable, before any operation that waits for the event begins.
  virtual void prepare(int event) = 0;
  /// Reports that all operations before a notification are complete.
  virtual void tell(int event) = 0;
  /// Writes the first event that has not happened in this execution, and the number of others. For
  /// example: "partition 3 to neighbor 1 has not been marked ready". Writes nothing if all have
  /// happened. Events may happen meanwhile.
  virtual void describe_missing(std::ostream& out) const = 0;
};

}  // namespace vicinal
