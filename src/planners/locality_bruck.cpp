// locality-bruck: Bruck's algorithm between regions, with a base of about the region size instead
// of two. The ranks of a region first share their blocks. In each step, each of them then fetches
// the blocks of a different region, and they share the fetched blocks.
//
// Wins for small blocks where messages between regions are expensive. With r regions of n ranks,
// each rank sends ceil(log_n r) messages between regions, and each block enters a region once.
// Plain Bruck sends ceil(log2 p) messages, and blocks enter a region many times. The price is a
// sharing inside regions after each step.
//
// Source: Bienz et al. 2022, algorithm 2. There, the number of regions is a power of their common
// size, and the first rank of each region stays idle between regions. Here both may be any. A step
// of base b multiplies the blocks of each region by b, through b - 1 fetches that are divided among
// its members. The base is the cheapest by the profile. Regions may hold inner regions (for example
// NUMA domains in a node). The ranks of a region then share by the same algorithm between the inner
// regions, as the paper proposes.
#include <algorithm>

#include "planners/all.hpp"
#include "planners/allgather/schedule.hpp"

namespace vicinal::allgather {

namespace {

/// Returns the seconds that the steps between regions take with a base, if the smallest region has
/// `smallest` ranks. Messages of one rank in one step count one after the other, since the
/// algorithm aims to have few of them.
double seconds_with_base(int base, int regions, int smallest, const Profile& profile) {
  double seconds = 0;
  for (int width = 1; width < regions; width *= base) {
    const int fetches = std::min(base, (regions + width - 1) / width) - 1;
    const int most = (fetches + smallest - 1) / smallest;
    seconds +=
        most * (profile.network().latency() + profile.network().overhead()) + 2 * profile.handover;
  }
  return seconds;
}

/// Returns the factor by which each step multiplies the blocks of a group. There are `regions`
/// groups, the smallest with `smallest` ranks.
int locality_base(int regions, int smallest, const Profile& profile) {
  int best = 2;
  double least = seconds_with_base(best, regions, smallest, profile);
  for (int base = 3; base <= regions; ++base) {
    const double seconds = seconds_with_base(base, regions, smallest, profile);
    if (seconds < least) {
      least = seconds;
      best = base;
    }
  }
  return best;
}

/// Returns the places of a team's members, grouped by their regions or inner regions.
std::vector<std::vector<int>> places_by_region(const Team& team, const Machine& machine,
                                               bool inner) {
  std::vector<std::vector<int>> result;
  std::vector<int> group_of;  // by region label: its index in the result, or -1
  for (int place = 0; place < team.size(); ++place) {
    const int rank = team.ranks[place];
    const auto label =
        static_cast<std::size_t>(inner ? machine.inner_region_of(rank) : machine.region_of(rank));
    if (label >= group_of.size()) group_of.resize(label + 1, -1);
    if (group_of[label] < 0) {
      group_of[label] = static_cast<int>(result.size());
      result.emplace_back();
    }
    result[group_of[label]].push_back(place);
  }
  return result;
}

void share(const Team& team, Schedule& schedule, bool inner);

/// The exchange between groups of a team, and the sharing inside them.
class Groups {
 public:
  Groups(const Team& team, std::vector<std::vector<int>> places, Schedule& schedule, bool inner)
      : team_(team), places_(std::move(places)), schedule_(schedule), inner_(inner) {
    const int own_place = team.place_of(schedule.rank());
    std::size_t smallest = places_[0].size();
    for (int group = 0; group < count(); ++group) {
      const std::vector<int>& members = places_[group];
      smallest = std::min(smallest, members.size());
      Blocks& held = whole_.holds.emplace_back();
      for (const int place : members) held.add(team.holds[place]);
      whole_.ranks.push_back(team.ranks[members[0]]);
      const auto found = std::find(members.begin(), members.end(), own_place);
      if (found == members.end()) continue;
      own_ = group;
      member_ = static_cast<int>(found - members.begin());
    }
    base_ = locality_base(count(), static_cast<int>(smallest), schedule.profile());
  }

  void gather() {
    Team own = members_of_own();
    for (std::size_t i = 0; i < own.ranks.size(); ++i) {
      own.holds[i] = team_.holds[places_[own_][i]];
    }
    share(own, schedule_, inner_);
    for (int width = 1; width < count(); width *= base_) {
      own.holds = fetch(width);
      share(own, schedule_, inner_);
    }
  }

 private:
  [[nodiscard]] int count() const { return static_cast<int>(places_.size()); }

  [[nodiscard]] Team members_of_own() const {
    Team team;
    for (const int place : places_[own_]) team.ranks.push_back(team_.ranks[place]);
    team.holds.resize(team.ranks.size());
    return team;
  }

  /// Returns the member of a group that does a step's k-th fetch, counted from 1. The first member
  /// is the last to get one; in the paper it stays idle.
  [[nodiscard]] int handler(int group, int fetch) const {
    return fetch % static_cast<int>(places_[group].size());
  }

  /// Runs a step. Before it, every group has the initial blocks of `width` groups: its own and the
  /// following ones. Returns the blocks that each member of the own group has fetched.
  std::vector<Blocks> fetch(int width) {
    std::vector<Blocks> fetched(places_[own_].size());
    for (int k = 1; k < base_ && k * width < count(); ++k) {
      const int groups = std::min(width, count() - k * width);
      const int from = (own_ + k * width) % count();
      const int to = (own_ - k * width + count()) % count();
      const Blocks coming = whole_.held_by(from, groups);
      fetched[handler(own_, k)].add(coming);
      if (handler(own_, k) != member_) continue;
      schedule_.give(whole_.held_by(own_, groups), {rank_of(to, handler(to, k))});
      schedule_.take(coming, rank_of(from, handler(from, k)));
    }
    return fetched;
  }

  [[nodiscard]] int rank_of(int group, int member) const {
    return team_.ranks[places_[group][member]];
  }

  const Team& team_;
  std::vector<std::vector<int>> places_;
  Schedule& schedule_;
  bool inner_;
  Team whole_;  ///< one member for each group, with the group's blocks
  int own_ = 0;
  int member_ = 0;
  int base_ = 2;
};

/// Shares blocks inside a region; with `inner`, between the regions inside it.
void share(const Team& team, Schedule& schedule, bool inner) {
  auto groups = places_by_region(team, schedule.machine(), true);
  if (!inner || groups.size() == 1) return gather_inside(team, schedule);
  Groups(team, std::move(groups), schedule, false).gather();
}

}  // namespace

void locality_bruck(Schedule& schedule) {
  const Team team = everybody(schedule.machine());
  auto groups = places_by_region(team, schedule.machine(), false);
  Groups(team, std::move(groups), schedule, true).gather();
}

}  // namespace vicinal::allgather

namespace vicinal {

namespace {

Task<Plans> plan_locality_bruck(PlanRequest request) {
  return allgather::plan_allgather(std::move(request), "locality-bruck", allgather::locality_bruck);
}

}  // namespace

const PlannerKind kind_of_locality_bruck =
    among_all("allgather in log_n r steps between r regions of n ranks", plan_locality_bruck);

}  // namespace vicinal
