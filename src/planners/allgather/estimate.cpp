// One function for each algorithm, in the order of the table of planners.
#include "planners/allgather/estimate.hpp"

#include <algorithm>
#include <cstddef>
#include <numeric>
#include <utility>

#include "planners/allgather/clocks.hpp"
#include "planners/allgather/schedule.hpp"

namespace vicinal::allgather {

namespace {

/// A team of which only the number of bytes of each member is known.
struct Members {
  std::vector<int> ranks;
  std::vector<std::int64_t> bytes;  ///< by place
  bool side_by_side = true;  ///< neighbouring places have adjacent blocks in the receive buffer

  [[nodiscard]] int size() const { return static_cast<int>(ranks.size()); }
  void add(int rank, std::int64_t its_bytes) {
    ranks.push_back(rank);
    bytes.push_back(its_bytes);
  }
  [[nodiscard]] std::int64_t total() const {
    return std::accumulate(bytes.begin(), bytes.end(), std::int64_t{0});
  }
};

/// Bytes of consecutive members of a team, where the first follows the last.
class Stretches {
 public:
  explicit Stretches(const std::vector<std::int64_t>& bytes) : before_(2 * bytes.size() + 1) {
    for (std::size_t i = 0; i + 1 < before_.size(); ++i) {
      before_[i + 1] = before_[i] + bytes[i % bytes.size()];
    }
  }
  [[nodiscard]] std::int64_t bytes(int place, int count) const {
    return before_[at(place + count)] - before_[at(place)];
  }

 private:
  std::vector<std::int64_t> before_;
};

Members everybody_of(const Gathering& it) {
  Members all;
  for (int rank = 0; rank < it.machine.size(); ++rank) all.add(rank, it.bytes[at(rank)]);
  return all;
}

Members region_of(const Gathering& it, int region) {
  Members team;
  for (const int rank : it.machine.members(region)) team.add(rank, it.bytes[at(rank)]);
  return team;
}

/// Returns whether the ranks of each region are consecutive, so that their blocks are one stretch.
bool regions_in_order(const Machine& machine) {
  for (int rank = 1; rank < machine.size(); ++rank) {
    const int step = machine.region_of(rank) - machine.region_of(rank - 1);
    if (step != 0 && step != 1) return false;
  }
  return true;
}

bool all_share(const Members& team, const Gathering& it) {
  return std::all_of(team.ranks.begin(), team.ranks.end(),
                     [&](int rank) { return it.shares(team.ranks.front(), rank); });
}

/// As a schedule's give(), with the take at the end of the round.
void give(Clocks& clocks, const Gathering& it, int from, int to, std::int64_t bytes,
          bool packed = false) {
  if (bytes == 0 || from == to) return;
  if (it.shares(from, to)) {
    clocks.hand(from, to, bytes);
  } else {
    clocks.send(from, to, bytes, packed);
  }
}

// ---- among any ranks ----------------------------------------------------------------------------

/// Runs teams of one size at the same time.
void by_bruck(Clocks& clocks, const Gathering& it, std::span<const Members> teams) {
  std::vector<Stretches> held;
  for (const Members& team : teams) held.emplace_back(team.bytes);
  const int size = teams.front().size();
  for (int step = 1; step < size; step *= 2) {
    const int count = std::min(step, size - step);
    for (std::size_t team = 0; team < teams.size(); ++team) {
      for (int place = 0; place < size; ++place) {
        const std::vector<int>& ranks = teams[team].ranks;
        const bool packed = count > 1 && (!teams[team].side_by_side || place + count > size);
        give(clocks, it, ranks[at(place)], ranks[at((place - step + size) % size)],
             held[team].bytes(place, count), packed);
      }
    }
    clocks.deliver();
  }
}

void by_bruck(Clocks& clocks, const Gathering& it, const Members& team) {
  by_bruck(clocks, it, std::span(&team, 1));
}

void by_doubling(Clocks& clocks, const Gathering& it, const Members& team) {
  const Stretches held(team.bytes);
  const int size = team.size();
  int active = 1;
  while (2 * active <= size) active *= 2;
  const int pairs = size - active;
  const auto place_at = [&](int number) { return number < pairs ? 2 * number : number + pairs; };
  for (int pair = 0; pair < pairs; ++pair) {
    give(clocks, it, team.ranks[at(2 * pair + 1)], team.ranks[at(2 * pair)],
         team.bytes[at(2 * pair + 1)]);
  }
  clocks.deliver();
  for (int step = 1; step < active; step *= 2) {
    for (int number = 0; number < active; ++number) {
      const int first = number & ~(step - 1);
      const int begin = place_at(first), end = place_at(first + step);
      give(clocks, it, team.ranks[at(place_at(number))], team.ranks[at(place_at(number ^ step))],
           held.bytes(begin, end - begin));
    }
    clocks.deliver();
  }
  for (int pair = 0; pair < pairs; ++pair) {
    give(clocks, it, team.ranks[at(2 * pair)], team.ranks[at(2 * pair + 1)], held.bytes(0, size));
  }
  clocks.deliver();
}

// ---- inside a region ----------------------------------------------------------------------------

/// A member's slot.
struct Filled {
  int place = 0;
  std::int64_t bytes = 0;
  Picoseconds signalled = 0;
};

/// Lets the members from place `first` on fill their slots. Returns the slots in the order in which
/// they become ready and are read.
std::vector<Filled> fill(Clocks& clocks, const Members& team, int first) {
  std::vector<Filled> filled;
  for (int place = first; place < team.size(); ++place) {
    const std::int64_t bytes = team.bytes[at(place)];
    if (bytes > 0) filled.push_back({place, bytes, clocks.at(team.ranks[at(place)])});
  }
  const auto in_order = [&] {
    std::stable_sort(filled.begin(), filled.end(),
                     [](const Filled& a, const Filled& b) { return a.signalled < b.signalled; });
  };
  in_order();
  for (Filled& slot : filled) {
    clocks.copy(team.ranks[at(slot.place)], slot.bytes);
    slot.signalled = clocks.at(team.ranks[at(slot.place)]);
  }
  in_order();
  return filled;
}

void read(Clocks& clocks, int rank, const Filled& slot) {
  clocks.await(rank, slot.signalled);
  clocks.copy(rank, slot.bytes);
}

void share_inside(Clocks& clocks, const Gathering& it, const Members& team) {
  if (!all_share(team, it)) return by_bruck(clocks, it, team);
  if (team.size() < 2) return;
  const std::vector<Filled> filled = fill(clocks, team, 0);
  for (int place = 0; place < team.size(); ++place) {
    const int rank = team.ranks[at(place)];
    bool waits = true;
    for (const Filled& slot : filled) {
      if (slot.place == place) continue;
      if (std::exchange(waits, false)) clocks.turn(rank, slot.signalled);
      read(clocks, rank, slot);
    }
  }
}

/// Collects all bytes at the first member.
void collect_inside(Clocks& clocks, const Gathering& it, const Members& team) {
  const int size = team.size();
  if (!all_share(team, it)) {
    const Stretches held(team.bytes);
    for (int step = 1; step < size; step *= 2) {
      for (int place = step; place < size; place += 2 * step) {
        give(clocks, it, team.ranks[at(place)], team.ranks[at(place - step)],
             held.bytes(place, std::min(step, size - place)));
      }
      clocks.deliver();
    }
    return;
  }
  const std::vector<Filled> filled = fill(clocks, team, 1);
  if (filled.empty()) return;
  clocks.turn(team.ranks.front(), filled.front().signalled);
  for (const Filled& slot : filled) read(clocks, team.ranks.front(), slot);
}

/// Distributes `bytes` bytes of the first member to the others.
void hand_out_inside(Clocks& clocks, const Gathering& it, const Members& team, std::int64_t bytes) {
  const int size = team.size();
  if (!all_share(team, it)) {
    int step = 1;
    while (2 * step < size) step *= 2;
    for (; step > 0 && size > 1; step /= 2) {
      for (int place = 0; place + step < size; place += 2 * step) {
        give(clocks, it, team.ranks[at(place)], team.ranks[at(place + step)], bytes);
      }
      clocks.deliver();
    }
    return;
  }
  if (size < 2) return;
  clocks.copy(team.ranks.front(), bytes);
  const Filled slot{0, bytes, clocks.at(team.ranks.front())};
  for (int place = 1; place < size; ++place) {
    clocks.turn(team.ranks[at(place)], slot.signalled);
    read(clocks, team.ranks[at(place)], slot);
  }
}

// ---- the planners -------------------------------------------------------------------------------

void bruck(Clocks& clocks, const Gathering& it) { by_bruck(clocks, it, everybody_of(it)); }

void dissemination(Clocks& clocks, const Gathering& it) {
  Members all = everybody_of(it);
  std::reverse(all.ranks.begin(), all.ranks.end());
  std::reverse(all.bytes.begin(), all.bytes.end());
  by_bruck(clocks, it, all);
}

void recursive_doubling(Clocks& clocks, const Gathering& it) {
  by_doubling(clocks, it, everybody_of(it));
}

void hierarchical(Clocks& clocks, const Gathering& it) {
  Members leaders;
  leaders.side_by_side = regions_in_order(it.machine);
  for (int region = 0; region < it.machine.regions(); ++region) {
    const Members team = region_of(it, region);
    collect_inside(clocks, it, team);
    leaders.add(team.ranks.front(), team.total());
  }
  by_bruck(clocks, it, leaders);
  for (int region = 0; region < it.machine.regions(); ++region) {
    hand_out_inside(clocks, it, region_of(it, region), leaders.total());
  }
}

void multi_lane(Clocks& clocks, const Gathering& it) {
  const Machine& machine = it.machine;
  std::size_t most = 0;
  for (int region = 0; region < machine.regions(); ++region) {
    most = std::max(most, machine.members(region).size());
  }
  std::vector<Members> lanes(most);
  for (Members& lane : lanes) lane.side_by_side = most == 1;
  for (int region = 0; region < machine.regions(); ++region) {
    const auto members = machine.members(region);
    for (std::size_t lane = 0; lane < most; ++lane) {
      const int rank = members[lane % members.size()];
      lanes[lane].add(rank, lane < members.size() ? it.bytes[at(rank)] : 0);
    }
  }
  by_bruck(clocks, it, lanes);
  for (int region = 0; region < machine.regions(); ++region) {
    Members team = region_of(it, region);
    std::fill(team.bytes.begin(), team.bytes.end(), 0);
    for (std::size_t lane = 0; lane < most; ++lane) {
      team.bytes[lane % team.bytes.size()] += lanes[lane].total();
    }
    share_inside(clocks, it, team);
  }
}

/// Divides a team by the regions that its members live in, or by the inner ones.
std::vector<Members> divided(const Machine& machine, const Members& team, bool inner) {
  std::vector<Members> groups;
  std::vector<int> group_of;  // by label
  for (int place = 0; place < team.size(); ++place) {
    const int rank = team.ranks[at(place)];
    const std::size_t label = at(inner ? machine.inner_region_of(rank) : machine.region_of(rank));
    if (label >= group_of.size()) group_of.resize(label + 1, -1);
    if (group_of[label] < 0) {
      group_of[label] = static_cast<int>(groups.size());
      groups.emplace_back();
    }
    groups[at(group_of[label])].add(rank, team.bytes[at(place)]);
  }
  return groups;
}

void by_locality(Clocks& clocks, const Gathering& it, std::vector<Members> groups, bool inner);

/// Shares blocks inside a region; with `inner`, between the regions inside it.
void share(Clocks& clocks, const Gathering& it, const Members& team, bool inner) {
  std::vector<Members> groups = divided(it.machine, team, true);
  if (!inner || groups.size() == 1) return share_inside(clocks, it, team);
  by_locality(clocks, it, std::move(groups), false);
}

void by_locality(Clocks& clocks, const Gathering& it, std::vector<Members> groups, bool inner) {
  const int count = static_cast<int>(groups.size());
  const bool in_order = regions_in_order(it.machine);
  std::vector<std::int64_t> whole;
  int smallest = groups.front().size();
  for (const Members& group : groups) {
    whole.push_back(group.total());
    smallest = std::min(smallest, group.size());
    share(clocks, it, group, inner);
  }
  const Stretches held(whole);
  const int base = locality_base(count, smallest, it.profile);
  for (int width = 1; width < count; width *= base) {
    for (Members& group : groups) std::fill(group.bytes.begin(), group.bytes.end(), 0);
    for (int k = 1; k < base && k * width < count; ++k) {
      const int fetched = std::min(width, count - k * width);
      for (int to = 0; to < count; ++to) {
        const int from = (to + k * width) % count;
        const std::int64_t bytes = held.bytes(from, fetched);
        const int taker = k % groups[at(to)].size(), giver = k % groups[at(from)].size();
        groups[at(to)].bytes[at(taker)] += bytes;
        if (bytes == 0) continue;
        give(clocks, it, groups[at(from)].ranks[at(giver)], groups[at(to)].ranks[at(taker)], bytes,
             !in_order || from + fetched > count);
      }
    }
    clocks.deliver();
    for (const Members& group : groups) share(clocks, it, group, inner);
  }
}

void locality_bruck(Clocks& clocks, const Gathering& it) {
  by_locality(clocks, it, divided(it.machine, everybody_of(it), false), true);
}

template <void (*follow)(Clocks&, const Gathering&)>
Picoseconds followed(const Gathering& it) {
  Clocks clocks(it.machine, it.profile);
  for (int rank = 0; rank < it.machine.size(); ++rank) clocks.copy(rank, it.bytes[at(rank)]);
  follow(clocks, it);
  return clocks.end();
}

struct Algorithm {
  std::string_view planner;
  Picoseconds (*time)(const Gathering&);
};

constexpr Algorithm algorithms[] = {
    {"bruck", followed<bruck>},
    {"dissemination", followed<dissemination>},
    {"recursive-doubling", followed<recursive_doubling>},
    {"ring", time_of_ring},
    {"hierarchical", followed<hierarchical>},
    {"multi-lane", followed<multi_lane>},
    {"locality-bruck", followed<locality_bruck>},
};

}  // namespace

std::vector<Estimate> estimate_all(const Gathering& gathering) {
  std::vector<Estimate> estimates;
  for (const Algorithm& it : algorithms) estimates.push_back({it.planner, it.time(gathering)});
  return estimates;
}

}  // namespace vicinal::allgather
