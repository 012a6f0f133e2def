// A host's port, shared fairly by the messages that pass it (max-rate: Gropp, Olson and Samfass 2016): n
// messages get an nth of its rate each, from when one begins to pass or ends to.
//
// A message passes its sender's link, which is a port of its rank alone, the out-port of one host and the in-port of
// another at the same time, and is through when the slowest of the three has passed all of its bytes. Each port shares as if its
// messages were held up by nothing else, so what is slow elsewhere leaves no gap: a port never idles while
// it has bytes to pass, and no message is through before a port could have passed its share. A fair
// share over all ports at once (max-min) would need the rates of all messages that can be reached from one
// that ends; here an event costs a logarithm. Where one port or link bounds all the messages that
// meet there both are the same.
#pragma once

#include <limits>
#include <vector>

namespace vicinal::detail {

class Port {
 public:
  /// A job begins that takes so many seconds of the port for itself.
  void enter(double now, int job, double seconds);
  /// When the first job will be through, if none begins before; infinity where there is none.
  [[nodiscard]] double next() const;
  /// Takes out a job that is through by now, or -1. Of those that end together the one with the lowest number is first.
  int leave(double now);

  /// When somebody will look for jobs that are through; kept here for whoever does.
  double looked_at = std::numeric_limits<double>::infinity();

 private:
  struct Job {
    double through;  ///< at what service
    int number;
    friend bool operator>(const Job& a, const Job& b) {
      return a.through != b.through ? a.through > b.through : a.number > b.number;
    }
  };

  double since_ = 0;  ///< when `service_` was right
  double service_ =
      0;  ///< seconds that each of the jobs has had, counted from when the port was idle
  std::vector<Job> jobs_;  ///< a heap, the first to be through on top
};

}  // namespace vicinal::detail
