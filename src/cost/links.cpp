// A port has virtual time: `service_` grows at the rate that each job gets. So the end of a job in
// virtual time is fixed when it begins, whatever other jobs come and go. A link is a port used by
// one rank alone.
//
// LogGP's ports serve first come, first served: the time at which a message passes is known when it
// comes, so no port needs a queue.
#include "cost/links.hpp"

#include <algorithm>
#include <cstdint>
#include <functional>
#include <limits>
#include <utility>

namespace vicinal::detail {

void Port::enter(double now, int job, double seconds) {
  if (jobs_.empty()) {
    service_ = 0;
  } else {
    service_ += (now - since_) / static_cast<double>(jobs_.size());
  }
  since_ = now;
  jobs_.push_back({service_ + seconds, job});
  std::push_heap(jobs_.begin(), jobs_.end(), std::greater<>());
}

double Port::next() const {
  if (jobs_.empty()) return std::numeric_limits<double>::infinity();
  const double left = jobs_.front().through - service_;
  return since_ + std::max(0.0, left) * static_cast<double>(jobs_.size());
}

int Port::leave(double now) {
  if (next() > now) return -1;
  const Job first = jobs_.front();
  std::pop_heap(jobs_.begin(), jobs_.end(), std::greater<>());
  jobs_.pop_back();
  service_ = std::max(service_, first.through);
  since_ = now;
  return first.number;
}

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

double SerialPorts::seconds(int send) const {
  const std::int64_t behind = std::max<std::int64_t>(steps_[send].bytes - 1, 0);
  return static_cast<double>(behind) * steps_.protocol(send).seconds_per_byte;
}

int SerialPorts::join(int send) {
  Port& out = port(steps_[send].rank);
  const double now = agenda_.now();
  const double begin = std::max(now, out.out_free);
  const double end = begin + seconds(send);
  out.out_free = end + gap_;
  agenda_.foresee(end, Happening::left, send);
  agenda_.foresee(begin + steps_.protocol(send).latency, Happening::reached, send);
  const int before = std::exchange(out.last, send);
  return begin > now ? before : -1;
}

void SerialPorts::take_in(int send) {
  Port& in = port(steps_[send].peer);
  const double end = std::max(agenda_.now(), in.in_free) + seconds(send);
  in.in_free = end + gap_;
  agenda_.foresee(end, Happening::arrived, send);
}

}  // namespace vicinal::detail
