// How messages leave: over their rank's link, and between hosts through the ports of both, each of which is shared fairly by
// the messages that pass it. Those of one rank to one other are in order: they go over one connection.
#pragma once

#include <cstdint>
#include <deque>
#include <unordered_map>
#include <vector>

#include "cost/agenda.hpp"
#include "cost/port.hpp"
#include "cost/steps.hpp"

namespace vicinal::detail {

class Links {
 public:
  Links(const Program& program, const Machine& machine, const Profile& profile, const Steps& steps,
        Agenda& agenda);

  /// A send's message may leave, after those to the same rank that could before. A `Happening::left` of the send will follow.
  void join(int send);
  /// For `Happening::passed`.
  void look_at_port(int port);
  /// For `Happening::left`. The send whose message begins to leave after it, or -1.
  int leave(int send);

 private:
  [[nodiscard]] std::int64_t pair_of(int send) const;
  void begin(int send);
  void enter(int port, int send, double seconds);
  void foresee(int port);

  const Program& program_;
  const Machine& machine_;
  const Profile& profile_;
  const Steps& steps_;
  Agenda& agenda_;
  std::unordered_map<std::int64_t, std::deque<int>>
      in_order_;             ///< by sender and receiver, while a message leaves: those behind it
  std::vector<char> held_;   ///< by operation: of sends, how many ports do not have it through
  std::vector<Port> ports_;  ///< by host: out, in; then the ranks' links
};

}  // namespace vicinal::detail
