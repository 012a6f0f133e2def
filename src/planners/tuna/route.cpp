// Arithmetic on places in a ring and digits of distances.
#include "planners/tuna/route.hpp"

#include <algorithm>

namespace vicinal::tuna {

namespace {

/// Returns the place in a ring of `places` places; `place` may be negative.
int around(std::int64_t place, int places) {
  const auto rest = static_cast<int>(place % places);
  return rest < 0 ? rest + places : rest;
}

}  // namespace

Route::Route(const Machine& machine, const Scheme& scheme)
    : machine_(machine), by_region_(scheme.by_region) {
  for (int group = 0; group < groups(); ++group) largest_ = std::max(largest_, size_of(group));
  add_steps(false, largest_, scheme.radix);
  if (by_region_) add_steps(true, groups(), scheme.between);
}

void Route::add_steps(bool between, int places, int radix) {
  for (std::int64_t width = 1; width < places; width *= radix) {
    steps_.push_back({between, radix, width});
  }
}

int Route::size_of(int group) const {
  return by_region_ ? static_cast<int>(machine_.members(group).size()) : machine_.size();
}

int Route::member(int group, int place) const {
  return by_region_ ? machine_.members(group)[static_cast<std::size_t>(place)] : place;
}

int Route::place_of(int rank) const {
  if (!by_region_) return rank;
  const auto members = machine_.members(machine_.region_of(rank));
  return static_cast<int>(std::lower_bound(members.begin(), members.end(), rank) - members.begin());
}

int Route::next(int superstep, int holder, int destination) const {
  const Step& it = step(superstep);
  const int group = group_of(holder), place = place_of(destination);
  if (it.between) {
    const int digit = it.digit(around(group_of(destination) - group, groups()));
    if (digit == 0) return holder;
    const int other = around(group + digit * it.width, groups());
    return member(other, place % size_of(other));
  }
  const int size = size_of(group), here = place_of(holder);
  const int digit = it.digit(around(place - here, size));
  return member(group, around(here + digit * it.width, size));
}

std::vector<int> Route::takers(int superstep, int rank) const { return peers(superstep, rank, 1); }

std::vector<int> Route::givers(int superstep, int rank) const { return peers(superstep, rank, -1); }

/// Between regions, two ranks are peers if a block may be for a place that both represent.
std::vector<int> Route::peers(int superstep, int rank, int direction) const {
  const Step& it = step(superstep);
  const int group = group_of(rank), size = size_of(group), here = place_of(rank);
  const int places = it.between ? groups() : size;
  std::vector<int> found;
  for (int digit = 1; digit < it.radix && digit * it.width < places; ++digit) {
    const std::int64_t moved = direction * digit * it.width;
    if (!it.between) {
      found.push_back(member(group, around(here + moved, size)));
      continue;
    }
    const int other = around(group + moved, groups());
    std::vector<int> its;
    for (int place = here; place < largest_; place += size) {
      its.push_back(place % size_of(other));
    }
    std::sort(its.begin(), its.end());
    its.erase(std::unique(its.begin(), its.end()), its.end());
    for (const int place : its) found.push_back(member(other, place));
  }
  return found;
}

double Route::share_moved(int superstep) const {
  const Step& it = step(superstep);
  const int places = it.between ? groups() : largest_;
  int moved = 0;
  for (int distance = 1; distance < places; ++distance) moved += it.digit(distance) != 0 ? 1 : 0;
  return static_cast<double>(moved) / places;
}

}  // namespace vicinal::tuna
