// A link is a port used by one rank alone.
#include "cost/links.hpp"

#include <algorithm>
#include <limits>
#include <utility>

namespace vicinal::detail {

Links::Links(const Program& program, const Machine& machine, const Profile& profile, Steps& steps,
             Agenda& agenda)
    : machine_(machine),
      profile_(profile),
      steps_(steps),
      agenda_(agenda),
      ports_(2 * static_cast<std::size_t>(machine.hosts()) +
             static_cast<std::size_t>(program.ranks())) {
  find_connections(program);
}

/// Most pairs of ranks have one message, which needs no queue.
void Links::find_connections(const Program& program) {
  std::vector<int> last(static_cast<std::size_t>(machine_.size()), -1);  // by receiver: a send
  for (int rank = 0; rank < program.ranks(); ++rank) {
    const int first = program.first_operation[rank];
    for (int send = first; send < program.first_operation[rank + 1]; ++send) {
      if (steps_[send].kind != OperationKind::send) continue;
      const int before = std::exchange(last[steps_[send].peer], send);
      if (before < first) continue;
      int& number = steps_[before].place;
      if (number < 0) {
        number = static_cast<int>(connections_.size());
        connections_.emplace_back();
      }
      steps_[send].place = number;
    }
  }
}

void Links::join(int send) {
  const int number = steps_[send].place;
  if (number >= 0 && std::exchange(connections_[number].taken, true)) {
    connections_[number].waiting.push_back(send);
  } else {
    begin(send);
  }
}

int Links::leave(int send) {
  const int number = steps_[send].place;
  if (number < 0) return -1;
  Connection& its = connections_[number];
  if (its.next == its.waiting.size()) {
    its = {};
    return -1;
  }
  const int after = its.waiting[its.next++];
  begin(after);
  return after;
}

void Links::begin(int send) {
  const Step& step = steps_[send];
  const auto bytes = static_cast<double>(step.bytes);
  enter(2 * machine_.hosts() + step.rank, send, bytes * steps_.protocol(send).seconds_per_byte);
  if (step.level != Level::network) return;
  enter(2 * machine_.host_of(step.rank), send, bytes * profile_.port_seconds_per_byte);
  enter(2 * machine_.host_of(step.peer) + 1, send, bytes * profile_.port_seconds_per_byte);
}

void Links::enter(int port, int send, double seconds) {
  ++steps_[send].held;
  ports_[port].enter(agenda_.now(), send, seconds);
  foresee(port);
}

/// If other messages enter, the port's next message passes later than foreseen: then it is checked
/// again.
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
    if (--steps_[send].held == 0) agenda_.foresee(agenda_.now(), Happening::left, send);
  }
  if (it.looked_at <= agenda_.now()) it.looked_at = std::numeric_limits<double>::infinity();
  foresee(port);
}

}  // namespace vicinal::detail
