// Schedules, teams, and the steps that several algorithms share inside a region. Sets of blocks are
// sorted ranges: if ranks are placed region by region, a region's blocks are one range.
#include "planners/allgather/schedule.hpp"

#include <algorithm>
#include <utility>

#include "base/error.hpp"

namespace vicinal::allgather {

Blocks Blocks::joined(std::vector<Range> ranges) {
  std::sort(ranges.begin(), ranges.end(),
            [](const Range& a, const Range& b) { return a.first < b.first; });
  Blocks result;
  for (const Range& range : ranges) {
    if (!result.ranges_.empty() && range.first <= result.ranges_.back().last) {
      result.ranges_.back().last = std::max(result.ranges_.back().last, range.last);
    } else {
      result.ranges_.push_back(range);
    }
  }
  return result;
}

Blocks Blocks::united(std::span<const Blocks> sets) {
  std::vector<Range> ranges;
  for (const Blocks& set : sets)
    ranges.insert(ranges.end(), set.ranges_.begin(), set.ranges_.end());
  return joined(std::move(ranges));
}

void Blocks::add(const Blocks& more) {
  std::vector<Range> ranges = std::move(ranges_);
  ranges.insert(ranges.end(), more.ranges_.begin(), more.ranges_.end());
  *this = joined(std::move(ranges));
}

Blocks Blocks::without(const Blocks& others) const {
  Blocks result;
  auto other = others.ranges_.begin();
  for (Range rest : ranges_) {
    while (other != others.ranges_.end() && other->last <= rest.first) ++other;
    for (auto cut = other; cut != others.ranges_.end() && cut->first < rest.last; ++cut) {
      if (rest.first < cut->first) result.ranges_.push_back({rest.first, cut->first});
      rest.first = cut->last;
    }
    if (rest.first < rest.last) result.ranges_.push_back(rest);
  }
  return result;
}

void Schedule::give(Blocks blocks, std::vector<int> takers) {
  if (blocks.empty() || takers.empty()) return;
  steps_.push_back({Step::Kind::give, std::move(blocks), std::move(takers)});
}

void Schedule::take(Blocks blocks, int giver) {
  if (blocks.empty()) return;
  steps_.push_back({Step::Kind::take, std::move(blocks), {giver}});
}

int Team::place_of(int rank) const {
  const auto found = std::find(ranks.begin(), ranks.end(), rank);
  require(found != ranks.end(), Fault::internal, "rank ", rank,
          " is no member of the team whose schedule it writes");
  return static_cast<int>(found - ranks.begin());
}

Blocks Team::held_by(int place, int count) const {
  const int wrapped = std::max(0, place + count - size());
  const std::span all(holds);
  Blocks result = Blocks::united(all.subspan(place, count - wrapped));
  if (wrapped > 0) result.add(Blocks::united(all.first(wrapped)));
  return result;
}

Team everybody(const Machine& machine) {
  Team team;
  for (int rank = 0; rank < machine.size(); ++rank) {
    team.ranks.push_back(rank);
    team.holds.emplace_back(rank);
  }
  return team;
}

Team by_region(const Machine& machine) {
  Team team;
  for (int region = 0; region < machine.regions(); ++region) {
    for (const int rank : machine.members(region)) {
      team.ranks.push_back(rank);
      team.holds.emplace_back(rank);
    }
  }
  return team;
}

namespace {

bool all_share(const Team& team, const Schedule& schedule) {
  return std::all_of(team.ranks.begin(), team.ranks.end(),
                     [&](int rank) { return schedule.shares_with(rank); });
}

std::vector<int> all_but(const Team& team, int place) {
  std::vector<int> others = team.ranks;
  others.erase(others.begin() + place);
  return others;
}

}  // namespace

void gather_inside(const Team& team, Schedule& schedule) {
  if (!all_share(team, schedule)) return gather_by_bruck(team, schedule);
  const int place = team.place_of(schedule.rank());
  schedule.give(team.holds[place], all_but(team, place));
  for (int other = 0; other < team.size(); ++other) {
    if (other != place) schedule.take(team.holds[other], team.ranks[other]);
  }
}

void collect(const Team& team, int root, Schedule& schedule) {
  const int place = team.place_of(schedule.rank());
  if (all_share(team, schedule)) {
    if (place != root) return schedule.give(team.holds[place], {team.ranks[root]});
    for (int other = 0; other < team.size(); ++other) {
      if (other != root) schedule.take(team.holds[other], team.ranks[other]);
    }
    return;
  }
  // A binomial tree over places counted from the root. A member whose lowest set bit is `step`
  // hands the blocks gathered from the places after it to the place `step` before.
  const int size = team.size();
  const int own = (place - root + size) % size;
  const auto rank_at = [&](int from_root) { return team.ranks[(root + from_root) % size]; };
  const auto gathered = [&](int from_root, int step) {
    return team.held_by((root + from_root) % size, std::min(step, size - from_root));
  };
  for (int step = 1; step < size; step *= 2) {
    if ((own & step) != 0) return schedule.give(gathered(own, step), {rank_at(own - step)});
    if (own + step < size) schedule.take(gathered(own + step, step), rank_at(own + step));
  }
}

void hand_out(const Team& team, int root, const Blocks& blocks, Schedule& schedule) {
  const int place = team.place_of(schedule.rank());
  if (all_share(team, schedule)) {
    if (place == root) return schedule.give(blocks, all_but(team, root));
    return schedule.take(blocks, team.ranks[root]);
  }
  const int size = team.size();
  const int own = (place - root + size) % size;
  const auto rank_at = [&](int from_root) { return team.ranks[(root + from_root) % size]; };
  int step = 1;
  while (step < size && (own & step) == 0) step *= 2;
  if (own != 0) schedule.take(blocks, rank_at(own - step));
  for (step /= 2; step > 0; step /= 2) {
    if (own + step < size) schedule.give(blocks, {rank_at(own + step)});
  }
}

}  // namespace vicinal::allgather
