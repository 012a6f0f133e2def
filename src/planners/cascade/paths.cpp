// Member (z - 1) mod n of a region of n members hands on the data of digit value z.
#include "planners/cascade/paths.hpp"

#include <algorithm>
#include <cstddef>

namespace vicinal::cascade {

namespace {

std::size_t at(std::int64_t place) { return static_cast<std::size_t>(place); }

/// Returns the member that hands on the data of a digit value.
int in_charge(const std::vector<int>& members, int value) {
  return (value - 1) % static_cast<int>(members.size());
}

}  // namespace

Paths::Paths(const Machine& machine, int rank, const std::vector<int>& ranks, int radix)
    : radix_(radix), place_of_(at(machine.regions()), -1) {
  for (const int each : ranks) {
    int& place = place_of_[at(machine.region_of(each))];
    if (place < 0) {
      place = static_cast<int>(members_.size());
      members_.emplace_back();
    }
    members_[at(place)].push_back(each);
  }
  place_ = place_of_[at(machine.region_of(rank))];
  const std::vector<int>& own = members_[at(place_)];
  own_ = static_cast<int>(std::lower_bound(own.begin(), own.end(), rank) - own.begin());
  const auto regions = static_cast<std::int64_t>(members_.size());
  const bool alone = std::all_of(members_.begin(), members_.end(),
                                 [](const auto& each) { return each.size() == 1; });
  for (std::int64_t width = 1; width < regions; width *= radix) {
    const auto values = static_cast<int>(std::min<std::int64_t>(radix - 1, (regions - 1) / width));
    if (!alone) add_inside(width, values);
    add_between(width, values);
  }
}

const std::vector<int>& Paths::members(std::int64_t distance) const {
  const auto regions = static_cast<std::int64_t>(members_.size());
  return members_[at(((place_ + distance) % regions + regions) % regions)];
}

void Paths::add_inside(std::int64_t width, int values) {
  const std::vector<int>& own = members(0);
  Step& it = steps_.emplace_back(Step{true, width, {-1}, {}, {}});
  for (int value = 1; value <= values; ++value) {
    const int other = in_charge(own, value);
    it.taker_of_value.push_back(other == own_ ? -1 : own[at(other)]);
  }
  const int in_charge_of_any = std::min(values, static_cast<int>(own.size()));
  for (int other = 0; other < static_cast<int>(own.size()); ++other) {
    if (other == own_) continue;
    if (other < in_charge_of_any) it.takers.push_back(own[at(other)]);
    if (own_ < in_charge_of_any) it.givers.push_back(own[at(other)]);
  }
}

void Paths::add_between(std::int64_t width, int values) {
  const std::vector<int>& own = members(0);
  Step& it = steps_.emplace_back(Step{false, width, {-1}, {}, {}});
  const auto counterpart = [](const std::vector<int>& there, int place) {
    return there[at(place) % there.size()];
  };
  for (int value = 1; value <= values; ++value) {
    const bool mine = in_charge(own, value) == own_;
    it.taker_of_value.push_back(mine ? counterpart(members(value * width), own_) : -1);
    if (mine) it.takers.push_back(it.taker_of_value.back());
    const std::vector<int>& before = members(-value * width);
    const int giver = in_charge(before, value);
    if (counterpart(own, giver) == own[at(own_)]) it.givers.push_back(before[at(giver)]);
  }
}

int Paths::taker(int step, int region) const {
  const Step& it = this->step(step);
  const auto regions = static_cast<std::int64_t>(members_.size());
  const std::int64_t distance = (place_of_[at(region)] - place_ + regions) % regions;
  return it.taker_of_value[at(distance / it.width % radix_)];
}

}  // namespace vicinal::cascade
