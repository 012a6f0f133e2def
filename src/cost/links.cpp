// A link is a port that one rank has to itself.
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
      held_(static_cast<std::size_t>(program.operations())),
      ports_(2 * static_cast<std::size_t>(machine.hosts()) +
             static_cast<std::size_t>(program.ranks())) {}

std::int64_t Links::pair_of(int send) const {
  return std::int64_t{program_.rank_of[send]} * machine_.size() + steps_[send].peer;
}

void Links::join(int send) {
  const auto [its, is_first] = in_order_.try_emplace(pair_of(send));
  if (is_first) {
    begin(send);
  } else {
    its->second.push_back(send);
  }
}

int Links::leave(int send) {
  const auto its = in_order_.find(pair_of(send));
  if (its->second.empty()) {
    in_order_.erase(its);
    return -1;
  }
  const int after = its->second.front();
  its->second.pop_front();
  begin(after);
  return after;
}

void Links::begin(int send) {
  const int rank = program_.rank_of[send];
  const Step& step = steps_[send];
  const auto bytes = static_cast<double>(step.bytes);
  enter(2 * machine_.hosts() + rank, send, bytes * steps_.protocol(send).seconds_per_byte);
  if (step.level != Level::network) return;
  enter(2 * machine_.host_of(rank), send, bytes * profile_.port_seconds_per_byte);
  enter(2 * machine_.host_of(step.peer) + 1, send, bytes * profile_.port_seconds_per_byte);
}

void Links::enter(int port, int send, double seconds) {
  ++held_[send];
  ports_[port].enter(agenda_.now(), send, seconds);
  foresee(port);
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
  for (int send = it.leave(agenda_.now()); send >= 0; send = it.leave(agenda_.now())) {
    if (--held_[send] == 0) agenda_.foresee(agenda_.now(), Happening::left, send);
  }
  if (it.looked_at <= agenda_.now()) it.looked_at = std::numeric_limits<double>::infinity();
  foresee(port);
}

}  // namespace vicinal::detail
