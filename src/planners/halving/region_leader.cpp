// Deferred acceptance (Gale and Shapley 1962) among region leaders, each for its region.
#include "planners/halving/region_leader.hpp"

#include <algorithm>
#include <tuple>

#include "base/error.hpp"
#include "base/scramble.hpp"

namespace vicinal::halving {

namespace {

bool worse(const Bid& a, const Bid& b) { return better(b, a); }

}  // namespace

bool better(const Bid& a, const Bid& b) {
  if (a.common != b.common) return a.common > b.common;
  const auto chance = [](const Bid& bid) {
    return scramble((static_cast<std::uint64_t>(bid.origin) << 32U) |
                    static_cast<std::uint32_t>(bid.agent));
  };
  return std::tuple(chance(a), a.origin, a.agent) < std::tuple(chance(b), b.origin, b.agent);
}

RegionLeader::RegionLeader(const Machine& machine, const Halves& halves, int region,
                           const std::map<int, Ranks>& destinations,
                           const std::map<int, Ranks>& sources)
    : machine_(machine), halves_(halves) {
  for (const auto& [member, ranks] : destinations) members_.push_back(member);
  const std::size_t places = members_.size() * static_cast<std::size_t>(halves.steps());
  wishes_.resize(places);
  held_.resize(places);
  find_regions(region, sources);
  count_common(destinations, sources);
}

void RegionLeader::find_regions(int region, const std::map<int, Ranks>& sources) {
  // A rank and a candidate are separated in the step that separates their regions, and count the
  // common neighbours on the candidate's side. One neighbour and one of its other sources show
  // whether there are any; the member that has the neighbour does not matter.
  const auto regions = static_cast<std::size_t>(machine_.regions());
  std::vector<bool> outward(regions, false), inward(regions, false);
  for (const auto& [neighbour, ranks] : sources) {
    const int parted = step_to(neighbour);
    for (const int other : ranks) {
      const int place = machine_.region_of(other);
      const int step = halves_.step_to(place);
      if (place == region) continue;
      if (step == parted) outward[static_cast<std::size_t>(place)] = true;
      if (step < parted) inward[static_cast<std::size_t>(place)] = true;
    }
  }
  for (int other = 0; other < machine_.regions(); ++other) {
    if (outward[static_cast<std::size_t>(other)]) outward_.push_back(other);
    if (inward[static_cast<std::size_t>(other)]) inward_.push_back(other);
  }
}

void RegionLeader::count_common(const std::map<int, Ranks>& destinations,
                                const std::map<int, Ranks>& sources) {
  // By neighbour: its other sources on its side of the cut that separates it from here.
  std::map<int, Ranks> fellows;
  place_of_.assign(static_cast<std::size_t>(machine_.size()), -1);
  for (const auto& [neighbour, ranks] : sources) {
    const int parted = step_to(neighbour);
    if (parted == halves_.steps()) continue;
    Ranks& beside = fellows[neighbour];
    for (const int rank : ranks) {
      if (step_to(rank) != parted) continue;
      beside.push_back(rank);
      place_of_[static_cast<std::size_t>(rank)] = 0;
    }
  }
  for (int rank = 0; rank < machine_.size(); ++rank) {
    int& place = place_of_[static_cast<std::size_t>(rank)];
    if (place < 0) continue;
    place = static_cast<int>(candidates_.size());
    candidates_.push_back({rank, step_to(rank), {}, -1, 0});
  }
  for (auto& [neighbour, ranks] : fellows) {
    for (int& rank : ranks) rank = place_of_[static_cast<std::size_t>(rank)];
  }

  std::vector<std::int64_t> common(candidates_.size());
  for (std::size_t member = 0; member < members_.size(); ++member) {
    std::fill(common.begin(), common.end(), 0);
    for (const int neighbour : destinations.at(members_[member])) {
      const auto found = fellows.find(neighbour);
      if (found == fellows.end()) continue;
      for (const int place : found->second) ++common[static_cast<std::size_t>(place)];
    }
    for (std::size_t place = 0; place < candidates_.size(); ++place) {
      if (common[place] == 0) continue;
      const Candidate& candidate = candidates_[place];
      wish(member, candidate.step)
          .bids.push_back({members_[member], candidate.rank, common[place]});
    }
  }
  for (Wish& each : wishes_) {
    each.open = each.bids.size();
    std::make_heap(each.bids.begin(), each.bids.end(), worse);
  }
}

std::size_t RegionLeader::member_place(int rank) const {
  const auto found = std::lower_bound(members_.begin(), members_.end(), rank);
  require(found != members_.end() && *found == rank, Fault::internal, "rank ", rank,
          " is named in a control message to a region leader of whose region it is not");
  return static_cast<std::size_t>(found - members_.begin());
}

void RegionLeader::ask_next(std::size_t member, int step) {
  // A displaced member asks the next candidate. A candidate's bid only improves, so this ends.
  for (;;) {
    Wish& mine = wish(member, step);
    mine.candidate = -1;
    mine.told = false;
    if (mine.open == 0) return;
    const auto heap = mine.bids.begin();
    std::pop_heap(heap, heap + static_cast<std::ptrdiff_t>(mine.open), worse);
    const Bid bid = mine.bids[--mine.open];
    Candidate& asked = candidate(bid.agent);
    if (asked.held.origin >= 0 && !better(bid, asked.held)) continue;
    const int displaced = asked.bidder;
    asked.held = bid;
    asked.bidder = static_cast<int>(member);
    mine.candidate = place_of_[static_cast<std::size_t>(bid.agent)];
    if (displaced < 0) return;
    member = static_cast<std::size_t>(displaced);
  }
}

void RegionLeader::ask_unburdened(std::size_t member, int step, int most_load) {
  Wish& mine = wish(member, step);
  const Bid* best = nullptr;
  for (const Bid& bid : mine.bids) {
    const int load = candidate(bid.agent).load;
    if (load > most_load) continue;
    const int best_load = best == nullptr ? 0 : candidate(best->agent).load;
    if (best == nullptr || load < best_load || (load == best_load && better(bid, *best)))
      best = &bid;
  }
  if (best == nullptr) return;
  Candidate& asked = candidate(best->agent);
  asked.held = *best;
  ++asked.load;
  mine.candidate = place_of_[static_cast<std::size_t>(best->agent)];
  mine.told = false;
}

std::vector<std::vector<Bid>> RegionLeader::bid(Stage stage) {
  std::vector<std::vector<Bid>> result(outward_.size());
  const auto write_new = [&](Wish& each) {
    if (each.candidate < 0 || each.told) return;
    each.told = true;
    const Candidate& asked = candidates_[static_cast<std::size_t>(each.candidate)];
    const auto region =
        std::lower_bound(outward_.begin(), outward_.end(), machine_.region_of(asked.rank));
    result[static_cast<std::size_t>(region - outward_.begin())].push_back(asked.held);
  };
  for (std::size_t member = 0; member < members_.size(); ++member) {
    for (int step = 0; step < halves_.steps(); ++step) {
      if (wish(member, step).candidate >= 0) continue;
      if (stage == Stage::compete) {
        ask_next(member, step);
      } else {
        ask_unburdened(member, step, stage == Stage::share ? 1 : 0);
        write_new(wish(member, step));
      }
    }
  }
  for (Wish& each : wishes_) write_new(each);
  return result;
}

void RegionLeader::decide(Stage stage, std::vector<Bid> bids) {
  std::sort(bids.begin(), bids.end(), better);
  for (const Bid& bid : bids) {
    std::vector<Bid>& held =
        held_[member_place(bid.agent) * static_cast<std::size_t>(halves_.steps()) +
              static_cast<std::size_t>(step_to(bid.origin))];
    if (held.size() < (stage == Stage::share ? 2U : 1U)) {
      held.push_back(bid);
    } else if (stage == Stage::compete && better(bid, held.front())) {
      held.front() = bid;
    }
  }
}

std::vector<Bid> RegionLeader::answer(int region) const {
  std::vector<Bid> result;
  const auto steps = static_cast<std::size_t>(halves_.steps());
  for (auto at = static_cast<std::size_t>(halves_.step_to(region)); at < held_.size();
       at += steps) {
    result.insert(result.end(), held_[at].begin(), held_[at].end());
  }
  return result;
}

void RegionLeader::learn(int region, std::span<const Bid> answer) {
  const int step = halves_.step_to(region);
  for (const int rank : machine_.members(region)) {
    if (place_of_[static_cast<std::size_t>(rank)] >= 0) candidate(rank).load = 0;
  }
  std::vector<int> agent_of(members_.size(), -1);  // of members that the answer names
  for (const Bid& bid : answer) {
    if (place_of_[static_cast<std::size_t>(bid.agent)] < 0) continue;
    Candidate& asked = candidate(bid.agent);
    asked.held = bid;
    asked.bidder = -1;
    ++asked.load;
    if (machine_.region_of(bid.origin) != machine_.region_of(members_.front())) continue;
    const std::size_t member = member_place(bid.origin);
    agent_of[member] = place_of_[static_cast<std::size_t>(bid.agent)];
    asked.bidder = static_cast<int>(member);
  }
  for (std::size_t member = 0; member < members_.size(); ++member) {
    Wish& mine = wish(member, step);
    if (mine.candidate < 0) continue;
    const int rank = candidates_[static_cast<std::size_t>(mine.candidate)].rank;
    if (machine_.region_of(rank) != region || agent_of[member] == mine.candidate) continue;
    mine.candidate = -1;
    mine.told = false;
  }
}

std::vector<StepPartners> RegionLeader::partners(int member) const {
  const std::size_t first = member_place(member) * static_cast<std::size_t>(halves_.steps());
  std::vector<StepPartners> result(static_cast<std::size_t>(halves_.steps()));
  for (std::size_t step = 0; step < result.size(); ++step) {
    const int place = wishes_[first + step].candidate;
    if (place >= 0) result[step].agent = candidates_[static_cast<std::size_t>(place)].rank;
    for (const Bid& bid : held_[first + step]) result[step].origins.push_back(bid.origin);
  }
  return result;
}

}  // namespace vicinal::halving
