// Departure of messages: over their rank's link and, between hosts, through the ports of both.
// Messages share each of these fairly. Messages from one rank to another leave in order, over one
// connection.
#pragma once

#include <vector>

#include "cost/agenda.hpp"
#include "cost/port.hpp"
#include "cost/steps.hpp"

namespace vicinal::detail {

class Links {
 public:
  Links(const Program& program, const Machine& machine, const Profile& profile, Steps& steps,
        Agenda& agenda);

  /// Lets a send's message leave, after earlier messages to the same rank. A `Happening::left` of
  /// the send will follow.
  void join(int send);
  /// Handles `Happening::passed`.
  void look_at_port(int port);
  /// Handles `Happening::left`. Returns the send whose message begins to leave next, or -1.
  int leave(int send);

 private:
  /// The messages of one rank to another, if there are several.
  struct Connection {
    bool taken = false;        ///< one of them is leaving
    std::vector<int> waiting;  ///< sends
    std::size_t next = 0;      ///< in `waiting`
  };
  void find_connections(const Program& program);
  void begin(int send);
  void enter(int port, int send, double seconds);
  void foresee(int port);

  const Machine& machine_;
  const Profile& profile_;
  Steps& steps_;
  Agenda& agenda_;
  std::vector<Connection> connections_;
  std::vector<Port> ports_;  ///< by host: out, in; then the ranks' links
};

}  // namespace vicinal::detail
