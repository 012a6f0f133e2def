// Deferred acceptance among chiefs (Gale and Shapley's, with one rank of the two sides in common).
#include "planners/halving/chief.hpp"

#include <algorithm>
#include <set>
#include <tuple>

#include "base/error.hpp"
#include "base/scramble.hpp"

namespace vicinal {

namespace {

constexpr std::size_t bid_words = 3;

void write(Words& words, const Bid& bid) {
  words.push_back(bid.origin);
  words.push_back(bid.agent);
  words.push_back(bid.common);
}

Bid read(std::span<const std::int64_t> words) {
  return {static_cast<int>(words[0]), static_cast<int>(words[1]), words[2]};
}

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

Chief::Chief(const Machine& machine, const Halves& halves, int region,
             const std::map<int, Ranks>& destinations, const std::map<int, Ranks>& sources)
    : machine_(machine), halves_(halves) {
  for (const auto& [member, ranks] : destinations) members_.push_back(member);
  const std::size_t places = members_.size() * static_cast<std::size_t>(halves.steps());
  wishes_.resize(places);
  held_.resize(places);
  find_regions(region, destinations, sources);
  count_common(destinations, sources);
}

void Chief::find_regions(int region, const std::map<int, Ranks>& destinations,
                         const std::map<int, Ranks>& sources) {
  // A rank and a candidate are parted in the step that parts their regions, and count the common
  // neighbours on the candidate's side. Whether there are any follows from one neighbour and one of
  // its other sources, without regard to which member has that neighbour.
  std::set<int> wanted;
  for (const auto& [member, ranks] : destinations) wanted.insert(ranks.begin(), ranks.end());
  std::set<int> outward, inward;
  for (const int neighbour : wanted) {
    const int parted = step_to(neighbour);
    for (const int other : sources.at(neighbour)) {
      const int place = machine_.region_of(other);
      const int step = halves_.step_to(place);
      if (place == region) continue;
      if (step == parted) outward.insert(place);
      if (step < parted) inward.insert(place);
    }
  }
  outward_.assign(outward.begin(), outward.end());
  inward_.assign(inward.begin(), inward.end());
}

void Chief::count_common(const std::map<int, Ranks>& destinations,
                         const std::map<int, Ranks>& sources) {
  // By neighbour: those of its other sources that are on its side of the cut that parts it from here.
  std::map<int, Ranks> fellows;
  Ranks all;
  for (const auto& [neighbour, ranks] : sources) {
    const int parted = step_to(neighbour);
    if (parted == halves_.steps()) continue;
    Ranks& beside = fellows[neighbour];
    std::copy_if(ranks.begin(), ranks.end(), std::back_inserter(beside),
                 [&](int rank) { return step_to(rank) == parted; });
    all.insert(all.end(), beside.begin(), beside.end());
  }
  std::sort(all.begin(), all.end());
  all.erase(std::unique(all.begin(), all.end()), all.end());
  for (const int rank : all) candidates_.push_back({rank, step_to(rank), {}, -1});
  for (auto& [neighbour, ranks] : fellows) {
    for (int& rank : ranks) rank = static_cast<int>(candidate_place(rank));
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
      wish(member, candidate.step).bids.push_back({members_[member], candidate.rank, common[place]});
    }
  }
  for (Wish& each : wishes_) std::make_heap(each.bids.begin(), each.bids.end(), worse);
}

std::size_t Chief::candidate_place(int rank) const {
  const auto found =
      std::lower_bound(candidates_.begin(), candidates_.end(), rank,
                       [](const Candidate& candidate, int wanted) { return candidate.rank < wanted; });
  if (found == candidates_.end() || found->rank != rank) return candidates_.size();
  return static_cast<std::size_t>(found - candidates_.begin());
}

std::size_t Chief::member_place(int rank) const {
  const auto found = std::lower_bound(members_.begin(), members_.end(), rank);
  require(found != members_.end() && *found == rank, Fault::internal, "rank ", rank,
          " is named in a letter to a chief of whose region it is not");
  return static_cast<std::size_t>(found - members_.begin());
}

void Chief::ask_next(std::size_t member, int step) {
  // Who is displaced asks on in its turn; displacing only ever improves a candidate's bid, so this ends.
  for (;;) {
    Wish& mine = wish(member, step);
    mine.candidate = -1;
    mine.told = false;
    if (mine.bids.empty()) return;
    std::pop_heap(mine.bids.begin(), mine.bids.end(), worse);
    const Bid bid = mine.bids.back();
    mine.bids.pop_back();
    const std::size_t place = candidate_place(bid.agent);
    Candidate& candidate = candidates_[place];
    if (candidate.held.origin >= 0 && !better(bid, candidate.held)) continue;
    const int displaced = candidate.bidder;
    candidate.held = bid;
    candidate.bidder = static_cast<int>(member);
    mine.candidate = static_cast<int>(place);
    if (displaced < 0) return;
    member = static_cast<std::size_t>(displaced);
  }
}

std::vector<Words> Chief::bid() {
  for (std::size_t member = 0; member < members_.size(); ++member) {
    for (int step = 0; step < halves_.steps(); ++step) {
      if (wish(member, step).candidate < 0) ask_next(member, step);
    }
  }
  std::vector<Words> result(outward_.size());
  for (Wish& each : wishes_) {
    if (each.candidate < 0 || each.told) continue;
    each.told = true;
    const Candidate& candidate = candidates_[static_cast<std::size_t>(each.candidate)];
    const auto region = std::lower_bound(outward_.begin(), outward_.end(),
                                         machine_.region_of(candidate.rank));
    write(result[static_cast<std::size_t>(region - outward_.begin())], candidate.held);
  }
  return result;
}

void Chief::consider(std::span<const std::int64_t> bids) {
  for (; !bids.empty(); bids = bids.subspan(bid_words)) {
    const Bid bid = read(bids);
    Bid& held = held_[member_place(bid.agent) * static_cast<std::size_t>(halves_.steps()) +
                      static_cast<std::size_t>(step_to(bid.origin))];
    if (held.origin < 0 || better(bid, held)) held = bid;
  }
}

Words Chief::answer(int region) const {
  Words words;
  const auto steps = static_cast<std::size_t>(halves_.steps());
  for (auto at = static_cast<std::size_t>(halves_.step_to(region)); at < held_.size(); at += steps) {
    if (held_[at].origin >= 0) write(words, held_[at]);
  }
  return words;
}

void Chief::learn(std::span<const std::int64_t> answer) {
  for (; !answer.empty(); answer = answer.subspan(bid_words)) {
    const Bid bid = read(answer);
    const std::size_t place = candidate_place(bid.agent);
    if (place == candidates_.size()) continue;
    Candidate& candidate = candidates_[place];
    candidate.held = bid;
    if (candidate.bidder < 0 || members_[static_cast<std::size_t>(candidate.bidder)] == bid.origin) {
      continue;
    }
    Wish& lost = wish(static_cast<std::size_t>(candidate.bidder), candidate.step);
    lost.candidate = -1;
    lost.told = false;
    candidate.bidder = -1;
  }
}

std::vector<StepPartners> Chief::partners(int member) const {
  const std::size_t first = member_place(member) * static_cast<std::size_t>(halves_.steps());
  std::vector<StepPartners> result(static_cast<std::size_t>(halves_.steps()));
  for (std::size_t step = 0; step < result.size(); ++step) {
    const int place = wishes_[first + step].candidate;
    if (place >= 0) result[step].agent = candidates_[static_cast<std::size_t>(place)].rank;
    result[step].origin = held_[first + step].origin;
  }
  return result;
}

}  // namespace vicinal
