// A host's port, shared fairly by the messages that pass it (max-rate: Gropp, Olson and Samfass
// 2016). While n messages pass, each gets an n-th of its rate.
//
// A message passes three ports at once. They are its sender's link (a port of that rank alone), the
// out-port of one host and the in-port of another. It has passed when the slowest of the three has
// passed all of its bytes. Each port shares as if nothing else delayed its messages, so a delay
// elsewhere leaves no gap. A port never idles while it has bytes to pass, and no message passes
// before the port could have passed its share. A fair share over all ports at once (max-min) would
// need the rates of all messages that depend on one that ends. Here an event costs a logarithm. If
// one port or link limits all the messages that meet there, both are the same.
#pragma once

#include <limits>
#include <vector>

namespace vicinal::detail {

class Port {
 public:
  /// Begins a job that takes this many seconds of the port alone.
  void enter(double now, int job, double seconds);
  /// Returns when the first job will have passed, if no other begins before; infinity if there is
  /// none.
  [[nodiscard]] double next() const;
  /// Removes and returns a job that has passed by now, or -1. Of jobs that end together, the lowest
  /// number is first.
  int leave(double now);

  /// When the caller will next check for passed jobs; kept here for the caller.
  double looked_at = std::numeric_limits<double>::infinity();

 private:
  struct Job {
    double through;  ///< at which service
    int number;
    friend bool operator>(const Job& a, const Job& b) {
      return a.through != b.through ? a.through > b.through : a.number > b.number;
    }
  };

  double since_ = 0;       ///< when `service_` was valid
  double service_ = 0;     ///< seconds that each job has had, counted from when the port was idle
  std::vector<Job> jobs_;  ///< a heap, the first to pass on top
};

}  // namespace vicinal::detail
