// A closed form: the ring has almost as many steps as ranks, all alike. Following them would take
// time quadratic in the number of ranks.
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <numeric>

#include "cost/cores.hpp"
#include "planners/allgather/clocks.hpp"
#include "planners/allgather/estimate.hpp"

namespace vicinal::allgather {

namespace {

/// Returns the largest sum of consecutive numbers in a circle, each used at most once; 0 of none.
Picoseconds largest_stretch(const std::vector<Picoseconds>& gains) {
  Picoseconds ending_here = 0, most = 0, least_ending = 0, least = 0, total = 0;
  for (const Picoseconds gain : gains) {
    total += gain;
    ending_here = std::max<Picoseconds>(0, ending_here + gain);
    most = std::max(most, ending_here);
    least_ending = std::min<Picoseconds>(0, least_ending + gain);
    least = std::min(least, least_ending);
  }
  return std::max(most, total - least);
}

/// The load of a step of the ring on each processor, link and port.
class StepLoads {
 public:
  explicit StepLoads(const Gathering& it)
      : it_(it),
        of_rank_(at(it.machine.size())),
        copied_(of_rank_.size()),
        of_host_(at(it.machine.hosts())),
        out_(of_host_.size()),
        in_(of_host_.size()) {}

  /// Records that one rank hands the other a block in each step. Returns how long that takes.
  Picoseconds hop(int giver, int taker, std::int64_t block) {
    const Profile& profile = it_.profile;
    if (it_.shares(giver, taker)) {
      const Picoseconds copied = picoseconds(block, profile.copy_seconds_per_byte);
      const Picoseconds handover = picoseconds(profile.handover);
      const Picoseconds turn = cores(taker) > 0 ? picoseconds(profile.turn) : 0;
      copied_[at(giver)] += copied;
      copied_[at(taker)] += copied;
      load(giver, copied);
      load(taker, copied + (cores(taker) > 0 ? handover : 0) + turn);
      return slowed(giver, copied) + slowed(taker, copied + turn) + handover;
    }
    const Level level = it_.machine.level(giver, taker);
    const LevelCost& cost = profile.at(level);
    const Picoseconds sending = picoseconds(cost.sending(block));
    const Picoseconds turn = cores(taker) > 0 ? picoseconds(profile.turn + profile.poll) : 0;
    const Picoseconds receiving = picoseconds(cost.receiving(block)) + turn;
    load(giver, sending);
    load(taker, receiving);
    Picoseconds on_the_way = picoseconds(block, cost.protocol(block).seconds_per_byte);
    supply_ = std::max({supply_, on_the_way, slowed(giver, sending), slowed(taker, receiving)});
    if (level == Level::network) {
      const Picoseconds through = picoseconds(block, profile.port_seconds_per_byte);
      supply_ =
          std::max({supply_, out_[host_of(giver)] += through, in_[host_of(taker)] += through});
      on_the_way = std::max(on_the_way, through);
    }
    return slowed(giver, sending) + slowed(taker, receiving) +
           picoseconds(cost.protocol(block).latency) + on_the_way;
  }

  [[nodiscard]] Picoseconds slowest() const {
    return std::max({slowest_, supply_, slowest_copying()});
  }

 private:
  [[nodiscard]] std::size_t host_of(int rank) const { return at(it_.machine.host_of(rank)); }
  /// Returns the cores that the ranks of the rank's host share; 0 if each has its own.
  [[nodiscard]] double cores(int rank) const {
    return shared_cores(it_.machine, it_.machine.host_of(rank), it_.profile);
  }
  /// Returns the duration on the rank's processor, which may be a fraction of a core.
  [[nodiscard]] Picoseconds slowed(int rank, Picoseconds duration) const {
    const double shared = cores(rank);
    if (shared <= 0) return duration;
    return std::llround(static_cast<double>(duration) * std::ceil(shared) / shared);
  }
  /// Returns the time of the rank with most copies. If blocks arrive faster than a rank copies one,
  /// it handles them in order of arrival. More blocks then go in than out, and later ranks wait.
  /// The last ranks of a region then take half as long again.
  [[nodiscard]] Picoseconds slowest_copying() const {
    Picoseconds slowest = 0;
    for (int rank = 0; rank < it_.machine.size(); ++rank) {
      if (cores(rank) <= 0) slowest = std::max(slowest, copied_[at(rank)]);
    }
    return supply_ > 0 && 2 * supply_ < slowest ? slowest * 3 / 2 : slowest;
  }
  void load(int rank, Picoseconds duration) {
    slowest_ = std::max(slowest_, of_rank_[at(rank)] += duration);
    if (cores(rank) <= 0) return;
    const auto all = static_cast<double>(of_host_[host_of(rank)] += duration);
    slowest_ = std::max<Picoseconds>(slowest_, std::llround(all / cores(rank)));
  }

  const Gathering& it_;
  std::vector<Picoseconds> of_rank_, copied_;  ///< by rank: processor time in all, in copies
  std::vector<Picoseconds> of_host_;
  std::vector<Picoseconds> out_, in_;  ///< of ports, by host
  Picoseconds slowest_ = 0;            ///< of processors
  Picoseconds supply_ = 0;             ///< time between blocks that arrive by messages
};

}  // namespace

/// The critical path is a chain of steps. Each is the next step of the same rank, or a step of the
/// rank that takes its block. The chain stays at the rank with most work per step, and moves on
/// where handing on takes longer than that.
Picoseconds time_of_ring(const Gathering& it) {
  std::vector<int> ranks;
  for (int region = 0; region < it.machine.regions(); ++region) {
    for (const int rank : it.machine.members(region)) ranks.push_back(rank);
  }
  const int size = it.machine.size();
  const std::int64_t block =
      std::accumulate(it.bytes.begin(), it.bytes.end(), std::int64_t{0}) / size;
  StepLoads loads(it);
  std::vector<Picoseconds> hops;
  for (int place = 0; place < size; ++place) {
    hops.push_back(loads.hop(ranks[at(place)], ranks[at((place + size - 1) % size)], block));
  }
  const Picoseconds step = loads.slowest();
  for (Picoseconds& hop : hops) hop -= step;
  return (size - 1) * step + largest_stretch(hops);
}

}  // namespace vicinal::allgather
