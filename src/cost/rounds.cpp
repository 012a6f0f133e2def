// Adds up the ranks' work in a round, by processor, link and port.
#include "cost/rounds.hpp"

#include <algorithm>
#include <map>
#include <utility>

#include "cost/cores.hpp"

namespace vicinal {

namespace {

/// Returns the ranks of the first and the last host of each size.
std::vector<int> ranks_to_follow(const Machine& machine) {
  std::map<int, std::pair<int, int>> hosts;  // by number of ranks
  for (int host = 0; host < machine.hosts(); ++host) {
    hosts.try_emplace(machine.ranks_on(host), host, host).first->second.second = host;
  }
  std::vector<int> ranks;
  for (int rank = 0; rank < machine.size(); ++rank) {
    const int host = machine.host_of(rank);
    const auto [first, last] = hosts.at(machine.ranks_on(host));
    if (host == first || host == last) ranks.push_back(rank);
  }
  return ranks;
}

}  // namespace

Rounds::Rounds(const Machine& machine, const Profile& profile, double mean_over_most)
    : machine_(machine),
      profile_(profile),
      mean_over_most_(mean_over_most),
      followed_(ranks_to_follow(machine)),
      loads_(static_cast<std::size_t>(machine.size())),
      host_loads_(static_cast<std::size_t>(machine.hosts())) {}

double Rounds::cores(int host) const { return shared_cores(machine_, host, profile_); }

/// Returns the fraction of a rank's bytes that each rank of its host has on average, if one has the
/// most and the others the mean. Resources that they share are as busy as that.
double Rounds::part_of_most(int rank) const {
  const double ranks = machine_.ranks_on(machine_.host_of(rank));
  return (1 + (ranks - 1) * mean_over_most_) / ranks;
}

void Rounds::add_work(int rank, double of_messages, double of_bytes) {
  load(rank).work += of_messages + of_bytes;
  host_load(rank).work += of_messages + part_of_most(rank) * of_bytes;
}

void Rounds::send(int rank, int peer, Transfer transfer, double messages, double bytes) {
  if (messages <= 0 || bytes <= 0) return;
  const double copying = messages * bytes * profile_.copy_seconds_per_byte;
  if (transfer == Transfer::slot) return add_work(rank, 0, copying);
  const Level level = machine_.level(rank, peer);
  const LevelCost& cost = profile_.at(level);
  const auto whole = static_cast<std::int64_t>(bytes);
  const double packing = transfer == Transfer::packed ? copying : 0;
  add_work(rank, messages * cost.send_overhead,
           messages * (cost.sending(whole) - cost.send_overhead) + packing);
  load(rank).packing += packing;
  const Protocol& protocol = cost.protocol(whole);
  const double link = bytes * protocol.seconds_per_byte + profile_.gap.value_or(0);
  load(rank).link += messages * link;
  alone_ = std::max(alone_, link);
  if (level != Level::network) return;
  host_load(rank).out += messages * part_of_most(rank) * bytes * profile_.port_seconds_per_byte;
}

void Rounds::take(int rank, int peer, Transfer transfer, double messages, double bytes) {
  if (messages <= 0 || bytes <= 0) return;
  const double copying = messages * bytes * profile_.copy_seconds_per_byte;
  Awaited& awaited = load(rank).awaited;
  if (transfer == Transfer::slot) {
    // Awaiting a signal costs processor time only if ranks share cores.
    const bool scarce = cores(machine_.host_of(rank)) > 0;
    add_work(rank, scarce ? messages * profile_.handover : 0, copying);
    if (!scarce) latency_ = std::max(latency_, profile_.handover);
    awaited = std::max(awaited, Awaited::flag);
    return;
  }
  const Level level = machine_.level(rank, peer);
  const LevelCost& cost = profile_.at(level);
  const auto whole = static_cast<std::int64_t>(bytes);
  const double packing = transfer == Transfer::packed ? copying : 0;
  add_work(rank, messages * cost.receive_overhead,
           messages * (cost.receiving(whole) - cost.receive_overhead) + packing);
  latency_ = std::max(latency_, cost.protocol(whole).latency);
  ends_ = std::max(ends_, cost.handling(whole) + 2 * packing / messages);
  awaited = Awaited::message;
  if (level != Level::network) return;
  host_load(rank).in += messages * part_of_most(rank) * bytes * profile_.port_seconds_per_byte;
}

/// Adds the switch to each rank that waits and shares a core. It sees nothing before its time
/// slice.
void Rounds::await_cores() {
  for (const int rank : followed_) {
    const Awaited awaited = load(rank).awaited;
    if (awaited == Awaited::nothing || cores(machine_.host_of(rank)) <= 0) continue;
    add_work(rank, profile_.turn + (awaited == Awaited::message ? profile_.poll : 0), 0);
  }
}

/// A processor packs and sends all messages, then takes those that it receives. The last of them is
/// on its way when it has sent all. A link or port begins when all is packed, and the last message
/// must be taken when it ends.
void Rounds::end_round() {
  await_cores();
  Load most;
  for (const int rank : followed_) {
    const Load& it = load(rank);
    most.work = std::max(most.work, it.work);
    most.packing = std::max(most.packing, it.packing);
    most.link = std::max(most.link, it.link);
  }
  double port = 0;
  for (const int rank : followed_) {
    const HostLoad& it = host_load(rank);
    const double shared = cores(machine_.host_of(rank));
    port = std::max({port, it.out, it.in});
    if (shared > 0) most.work = std::max(most.work, it.work / shared);
  }
  seconds_ += std::max({most.work, (most.work + ends_) / 2 + latency_ + alone_,
                        most.packing + std::max(most.link, port) + ends_ + latency_});
  for (const int rank : followed_) {
    load(rank) = {};
    host_load(rank) = {};
  }
  latency_ = ends_ = alone_ = 0;
}

}  // namespace vicinal
