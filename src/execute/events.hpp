// What happens outside of the executions of a plan and is waited for there (triggers), and what the outside
// waits for (notifications). An execution asks with its claim held; events may happen in any thread, which
// takes no lock for it.
#pragma once

#include <iosfwd>

namespace vicinal {

class Events {
 public:
  Events() = default;
  Events(const Events&) = delete;
  Events& operator=(const Events&) = delete;
  virtual ~Events() = default;

  /// An event that has happened in this execution, each once; -1 where there is none at the moment.
  virtual int next() noexcept = 0;
  /// For an event that has happened, before anything that waits for it begins: makes readable what it has
  /// made ready.
  virtual void prepare(int event) = 0;
  /// Everything that a notification comes after has been done.
  virtual void tell(int event) = 0;
  /// "partition 3 to neighbor 1 has not been marked ready": the first event that has not happened in this
  /// execution, and how many others have not. Nothing where all have. May be asked while events happen.
  virtual void describe_missing(std::ostream& out) const = 0;
};

}  // namespace vicinal
