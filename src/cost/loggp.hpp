// How messages leave and arrive by LogGP (Alexandrov, Ionescu, Schauser and Scheiman 1995), where a profile has a gap. Each
// rank has one port, which passes one message at a time in each direction, first in, first out: the bytes behind the
// first take G each, and the next message follows g after the last of them. The first byte arrives L after it has left, and
// is taken in when the receiver's port is free. So a message of k bytes that nobody holds up is there
// (k - 1) G + L after it was sent.
#pragma once

#include <vector>

#include "cost/agenda.hpp"
#include "cost/steps.hpp"

namespace vicinal::detail {

class SerialPorts {
 public:
  SerialPorts(int ranks, double gap, const Steps& steps, Agenda& agenda)
      : gap_(gap), steps_(steps), agenda_(agenda), ports_(static_cast<std::size_t>(ranks)) {}

  /// A send is paid for. A `Happening::left` and a `Happening::reached` of it will follow. Returns the send that it
  /// waits for, or -1.
  int join(int send);
  /// For `Happening::reached`: the first byte is at the receiver. A `Happening::arrived` will follow.
  void take_in(int send);

 private:
  struct Port {
    double out_free = 0;  ///< when the next message may begin to leave
    double in_free = 0;   ///< when the next one may be taken in
    int last = -1;        ///< the send whose message left last
  };
  /// Of the bytes behind the first.
  [[nodiscard]] double seconds(int send) const;
  Port& port(int rank) { return ports_[static_cast<std::size_t>(rank)]; }

  double gap_;
  const Steps& steps_;
  Agenda& agenda_;
  std::vector<Port> ports_;  ///< by rank
};

}  // namespace vicinal::detail
