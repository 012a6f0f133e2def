// A rank sends one message at a time, so a port knows a message by its rank.
#include "cost/links.hpp"

#include <algorithm>
#include <limits>

namespace vicinal::detail {

Links::Links(const Program& program, const Machine& machine, const Profile& profile,
             const Steps& steps, Agenda& agenda)
    : program_(program),
      machine_(machine),
      profile_(profile),
      steps_(steps),
      agenda_(agenda),
      links_(static_cast<std::size_t>(program.ranks())),
      ports_(2 * static_cast<std::size_t>(machine.hosts())) {}

void Links::join(int send) {
  Link& its = links_[program_.rank_of[send]];
  if (its.sending < 0) {
    begin(send);
  } else {
    its.waiting.push_back(send);
  }
}

void Links::begin(int send) {
  const int rank = program_.rank_of[send];
  const Step& step = steps_[send];
  const auto bytes = static_cast<double>(step.bytes);
  Link& its = links_[rank];
  its.sending = send;
  its.let_past = agenda_.now() + bytes * steps_.protocol(send).seconds_per_byte;
  if (step.level != Level::network) {
    agenda_.foresee(its.let_past, Happening::left, rank);
    return;
  }
  its.ports = 2;
  const int out = 2 * machine_.host_of(rank);
  const int in = 2 * machine_.host_of(step.peer) + 1;
  for (const int port : {out, in}) {
    ports_[port].enter(agenda_.now(), rank, bytes * profile_.port_seconds_per_byte);
    foresee(port);
  }
}

/// A port's next message may be through later than foreseen, when others have come: then that is looked at again.
void Links::foresee(int port) {
  Port& it = ports_[port];
  const double next = it.next();
  if (next >= it.looked_at) return;
  it.looked_at = std::max(next, agenda_.now());
  agenda_.foresee(it.looked_at, Happening::passed, port);
}

void Links::look_at_port(int port) {
  Port& it = ports_[port];
  for (int rank = it.leave(agenda_.now()); rank >= 0; rank = it.leave(agenda_.now())) {
    Link& its = links_[rank];
    if (--its.ports > 0) continue;
    agenda_.foresee(std::max(agenda_.now(), its.let_past), Happening::left, rank);
  }
  if (it.looked_at <= agenda_.now()) it.looked_at = std::numeric_limits<double>::infinity();
  foresee(port);
}

Links::Left Links::leave(int rank) {
  Link& its = links_[rank];
  const int send = its.sending;
  if (its.next < its.waiting.size()) {
    const int after = its.waiting[its.next++];
    begin(after);
    return {send, after};
  }
  its.waiting.clear();
  its.next = 0;
  its.sending = -1;
  return {send, -1};
}

}  // namespace vicinal::detail
