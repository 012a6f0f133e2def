// Agent selection by region leaders. A region leader finds agents for all ranks of its region, by
// control messages with the leaders of other regions. In a step, rank p wants as its agent the rank
// c of the opposite half with which it shares most out-neighbours there. Of all ranks that ask c, c
// takes the one with which it shares most.
//
// Both sides order pairs alike, so there is one outcome in which no two ranks prefer each other.
// Taking the pairs in their order leads to it, as Sharifian et al.'s exchange of REQ, ACCEPT, DROP
// and EXIT does. Deferred acceptance leads to it in rounds: a bid is held until a better one comes.
// A region leader settles by itself all that it can, and learns which bids other regions hold. It
// does not ask for agents that are already lost, so a few rounds suffice. All steps are settled at
// once, because common neighbours depend on the graph alone.
//
// A rank without an agent in an early step sends to each of its many neighbours behind the cut, and
// all ranks wait for it. Some ranks always remain: the rounds were too few, or their half is the
// larger one. In later stages they ask ranks without an origin, and in the end ranks that have one.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <vector>

#include "base/records.hpp"
#include "locality/machine.hpp"
#include "planners/halving/halves.hpp"

namespace vicinal::halving {

/// A rank's request for an agent.
struct Bid {
  int origin = -1;
  int agent = -1;
  std::int64_t common = 0;  ///< out-neighbours of both in the agent's half
};

void fields(auto&& take, Is<Bid> auto& it) { take(it.origin, it.agent, it.common); }

/// Returns whether `a` comes before `b` in the order of bids, which is equal on all ranks. Among
/// equal numbers of common neighbours the order is pseudo-random, so that ranks with similar
/// neighbours do not all ask the same rank.
bool better(const Bid& a, const Bid& b);

/// The partners of a rank in one step: its agent (-1: none) and its origins.
struct StepPartners {
  int agent = -1;
  std::vector<int> origins;
};
void fields(auto&& take, Is<StepPartners> auto& it) { take(it.agent, it.origins); }

/// The purpose of a round of bids.
enum class Stage {
  compete,  ///< the better bid displaces the other
  fill,     ///< remaining ranks ask those without an origin; nobody is displaced
  share,    ///< remaining ranks ask those with at most one origin
};

class RegionLeader {
 public:
  using Ranks = std::vector<int>;

  /// `destinations` holds, by member, its out-neighbours other than itself, ascending. `sources`
  /// holds, by such out-neighbour, the ranks that it receives from, ascending.
  RegionLeader(const Machine& machine, const Halves& halves, int region,
               const std::map<int, Ranks>& destinations, const std::map<int, Ranks>& sources);

  /// Returns the regions in which members may find agents, ascending. Bids go there and answers
  /// come from there. The other region has this one among its `inward`.
  [[nodiscard]] const Ranks& outward() const { return outward_; }
  [[nodiscard]] const Ranks& inward() const { return inward_; }

  /// Returns the bids of a round, by outward region.
  std::vector<std::vector<Bid>> bid(Stage stage);
  /// Decides on all bids of a round at once.
  void decide(Stage stage, std::vector<Bid> bids);
  /// Returns the bids that members hold in the step of an inward region: bids of that region and of
  /// others.
  [[nodiscard]] std::vector<Bid> answer(int region) const;
  /// Reads the answer of an outward region.
  void learn(int region, std::span<const Bid> answer);

  /// Returns a member's partners, by step.
  [[nodiscard]] std::vector<StepPartners> partners(int member) const;

 private:
  /// A rank of another region that may become the agent of members.
  struct Candidate {
    int rank = 0;
    int step = 0;
    Bid held;         ///< the best bid known
    int bidder = -1;  ///< the place of the member that made it
    int load = 0;     ///< known number of its origins
  };
  struct Wish {
    std::vector<Bid> bids;  ///< the first `open` are a heap, the best first; the others were tried
    std::size_t open = 0;
    int candidate = -1;  ///< the place of the candidate that is asked or holds this rank
    bool told = false;   ///< the candidate's region leader knows of the bid
  };

  void find_regions(int region, const std::map<int, Ranks>& sources);
  void count_common(const std::map<int, Ranks>& destinations, const std::map<int, Ranks>& sources);
  [[nodiscard]] int step_to(int rank) const { return halves_.step_to(machine_.region_of(rank)); }
  Candidate& candidate(int rank) {
    return candidates_[static_cast<std::size_t>(place_of_[static_cast<std::size_t>(rank)])];
  }
  [[nodiscard]] std::size_t member_place(int rank) const;
  Wish& wish(std::size_t member, int step) {
    return wishes_[member * static_cast<std::size_t>(halves_.steps()) +
                   static_cast<std::size_t>(step)];
  }
  void ask_next(std::size_t member, int step);
  void ask_unburdened(std::size_t member, int step, int most_load);

  const Machine& machine_;
  const Halves& halves_;
  Ranks members_;
  Ranks outward_;
  Ranks inward_;
  std::vector<Candidate> candidates_;   ///< by rank
  std::vector<int> place_of_;           ///< by rank of the machine: among the candidates, or -1
  std::vector<Wish> wishes_;            ///< by member and step
  std::vector<std::vector<Bid>> held_;  ///< by member and step: bids of other regions' ranks
};

}  // namespace vicinal::halving
