// Max-rate ports, LogGP messages, and processors that ranks use in time slices.
#include "planners/allgather/clocks.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

namespace vicinal::allgather {

Clocks::Clocks(const Machine& machine, const Profile& profile)
    : machine_(machine),
      profile_(profile),
      handover_(picoseconds(profile.handover)),
      turn_(picoseconds(profile.turn)),
      poll_(picoseconds(profile.poll)),
      cores_(deal_cores(machine, profile)),
      now_(static_cast<std::size_t>(machine.size())),
      taken_(now_.size()),
      busy_(cores_.cores.size()),
      link_(now_.size()),
      out_(static_cast<std::size_t>(machine.hosts())),
      in_(out_.size()) {}

void Clocks::work(int rank, Picoseconds duration) {
  const auto r = static_cast<std::size_t>(rank);
  Picoseconds& busy = busy_[allgather::at(cores_.of_rank[r])];
  busy = std::max(now_[r], busy) + std::llround(static_cast<double>(duration) / core(rank).speed);
  now_[r] = busy;
}

void Clocks::send(int from, int to, std::int64_t bytes, bool packed) {
  round_.push_back({from, to, bytes, packed ? Way::packed : Way::straight, 0, 0});
}

void Clocks::hand(int from, int to, std::int64_t bytes) {
  round_.push_back({from, to, bytes, Way::shared, 0, 0});
}

void Clocks::begin(Message& it) {
  if (it.way != Way::straight) copy(it.from, it.bytes);
  if (it.way == Way::shared) {
    it.leaves = at(it.from);
    return;
  }
  const Level level = machine_.level(it.from, it.to);
  const LevelCost& cost = profile_.at(level);
  work(it.from, picoseconds(cost.sending(it.bytes)));
  it.leaves = at(it.from);
  link_[static_cast<std::size_t>(it.from)].enter(
      it.leaves, picoseconds(it.bytes, cost.protocol(it.bytes).seconds_per_byte));
  if (level != Level::network) return;
  for (Port* const port : {&out_[host_of(it.from)], &in_[host_of(it.to)]}) {
    port->enter(it.leaves, picoseconds(it.bytes, profile_.port_seconds_per_byte));
  }
}

Picoseconds Clocks::arrival(const Message& it) const {
  if (it.way == Way::shared) return it.leaves;
  const Level level = machine_.level(it.from, it.to);
  const Protocol& protocol = profile_.at(level).protocol(it.bytes);
  Picoseconds passed = link_[static_cast<std::size_t>(it.from)].passed(
      it.leaves, picoseconds(it.bytes, protocol.seconds_per_byte));
  if (level == Level::network) {
    const Picoseconds alone = picoseconds(it.bytes, profile_.port_seconds_per_byte);
    for (const Port* const port : {&out_[host_of(it.from)], &in_[host_of(it.to)]}) {
      passed = std::max(passed, port->passed(it.leaves, alone));
    }
  }
  return passed + picoseconds(protocol.latency);
}

void Clocks::end(const Message& it) {
  if (it.way == Way::shared) {
    await(it.to, it.arrives);
  } else {
    Picoseconds& now = now_[static_cast<std::size_t>(it.to)];
    now = std::max(now, it.arrives);
    work(it.to, picoseconds(profile_.at(machine_.level(it.from, it.to)).receiving(it.bytes)));
    link_[static_cast<std::size_t>(it.from)].messages = 0;
    out_[host_of(it.from)].messages = in_[host_of(it.to)].messages = 0;
  }
  if (it.way != Way::straight) copy(it.to, it.bytes);
}

/// Processes messages in the order in which they can proceed, which matters if ranks share a
/// processor.
void Clocks::deliver() {
  for (Message& message : round_) message.leaves = at(message.from);
  std::stable_sort(round_.begin(), round_.end(),
                   [](const Message& a, const Message& b) { return a.leaves < b.leaves; });
  for (Message& message : round_) begin(message);
  for (Message& message : round_) message.arrives = arrival(message);
  std::stable_sort(round_.begin(), round_.end(),
                   [](const Message& a, const Message& b) { return a.arrives < b.arrives; });
  ++rounds_;
  for (const Message& message : round_) {
    const auto to = static_cast<std::size_t>(message.to);
    const Awaited awaited = message.way == Way::shared ? Awaited::flag : Awaited::message;
    if (std::exchange(taken_[to], rounds_) != rounds_) turn(message.to, message.arrives, awaited);
    end(message);
  }
  round_.clear();
}

void Clocks::copy(int rank, std::int64_t bytes) {
  work(rank, picoseconds(bytes, profile_.copy_seconds_per_byte));
}

void Clocks::turn(int rank, Picoseconds until, Awaited awaited) {
  if (!core(rank).shared) return;
  Picoseconds& now = now_[static_cast<std::size_t>(rank)];
  now = std::max(now, until);
  work(rank, awaited == Awaited::message ? turn_ + poll_ : turn_);
}

/// A rank that shares a processor sees nothing before its time slice.
void Clocks::await(int rank, Picoseconds signalled) {
  Picoseconds& now = now_[static_cast<std::size_t>(rank)];
  const bool scarce = core(rank).shared;
  now = std::max(now, scarce ? signalled : signalled + handover_);
  if (scarce) work(rank, handover_);
}

Picoseconds Clocks::end() const { return *std::max_element(now_.begin(), now_.end()); }

}  // namespace vicinal::allgather
