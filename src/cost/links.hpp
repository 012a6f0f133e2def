// How messages leave: those of a rank one after another over its link, and between hosts through the ports of both.
#pragma once

#include <vector>

#include "cost/agenda.hpp"
#include "cost/port.hpp"
#include "cost/steps.hpp"

namespace vicinal::detail {

class Links {
 public:
  Links(const Program& program, const Machine& machine, const Profile& profile, const Steps& steps,
        Agenda& agenda);

  /// A send's message may leave, after those of its rank that could before. A `Happening::left` of the rank will follow.
  void join(int send);
  /// For `Happening::passed`.
  void look_at_port(int port);

  struct Left {
    int send;   ///< the one whose message has left
    int after;  ///< the one whose message leaves now, or -1
  };
  /// For `Happening::left`.
  Left leave(int rank);

 private:
  struct Link {
    std::vector<int> waiting;  ///< sends
    std::size_t next = 0;      ///< in `waiting`
    int sending = -1;
    int ports = 0;        ///< that do not have it through
    double let_past = 0;  ///< when the link itself does
  };
  void begin(int send);
  void foresee(int port);

  const Program& program_;
  const Machine& machine_;
  const Profile& profile_;
  const Steps& steps_;
  Agenda& agenda_;
  std::vector<Link> links_;  ///< by rank
  std::vector<Port> ports_;  ///< by host: out, in
};

}  // namespace vicinal::detail
