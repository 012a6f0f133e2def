// Departure and arrival of messages by LogGP (Alexandrov, Ionescu, Schauser and Scheiman 1995), for
// a profile with a gap. Each rank has one port, which passes one message at a time in each
// direction, first in, first out. The bytes after the first take G each, and the next message
// follows g after the last of them. The first byte arrives L after it has left, and enters when the
// receiver's port is free. So an undelayed message of k bytes has arrived (k - 1) G + L after it
// was sent.
#pragma once

#include <vector>

#include "cost/agenda.hpp"
#include "cost/steps.hpp"

namespace vicinal::detail {

class SerialPorts {
 public:
  SerialPorts(int ranks, double gap, const Steps& steps, Agenda& agenda)
      : gap_(gap), steps_(steps), agenda_(agenda), ports_(static_cast<std::size_t>(ranks)) {}

  /// Lets a send's message leave, after its overhead is paid. A `Happening::left` and a
  /// `Happening::reached` of it will follow. Returns the send that it waits for, or -1.
  int join(int send);
  /// Handles `Happening::reached`: the first byte is at the receiver. A `Happening::arrived` will
  /// follow.
  void take_in(int send);

 private:
  struct Port {
    double out_free = 0;  ///< when the next message may begin to leave
    double in_free = 0;   ///< when the next message may enter
    int last = -1;        ///< the send whose message left last
  };
  /// Time of the bytes after the first.
  [[nodiscard]] double seconds(int send) const;
  Port& port(int rank) { return ports_[static_cast<std::size_t>(rank)]; }

  double gap_;
  const Steps& steps_;
  Agenda& agenda_;
  std::vector<Port> ports_;  ///< by rank
};

}  // namespace vicinal::detail
