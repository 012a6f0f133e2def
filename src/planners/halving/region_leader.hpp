// A region leader finds agents for all ranks of its region, by letters with the region leaders of other
// regions: rank p wants for its agent in a step the rank c of the opposite half with which it
// shares most out-neighbours there, and c takes of all who ask the one with which it shares most.
//
// Both sides rank pairs alike, so that there is one outcome in which no pair would rather have each
// other: that of taking the pairs in their order, as Sharifian et al.'s exchange of REQ, ACCEPT,
// DROP and EXIT does. Deferred acceptance gets there in rounds: who asks is held until somebody
// better asks. A region leader settles what it can by itself and is told who is held elsewhere, so that it
// asks for nothing that is already lost, and a few rounds do. All steps are settled at once,
// because common neighbours depend on the graph alone.
//
// A rank left without an agent in an early step has to send to each of its many neighbours behind
// the cut, and everybody waits for it. Some are always left: those for whom the rounds were too
// few, and the surplus of the larger half. So there are stages after the competition, in which they
// ask ranks that have no origin yet, and in the end ranks that have one.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <vector>

#include "base/records.hpp"
#include "locality/machine.hpp"
#include "planners/halving/halves.hpp"

namespace vicinal::halving {

/// A rank's wish for an agent.
struct Bid {
  int origin = -1;
  int agent = -1;
  std::int64_t common = 0;  ///< out-neighbours of both in the agent's half
};

void fields(auto&& take, Is<Bid> auto& it) { take(it.origin, it.agent, it.common); }

/// The order of bids, the same everywhere. Among pairs with as many neighbours in common it is by
/// chance, so that ranks whose neighbours are alike do not all ask the same one.
bool better(const Bid& a, const Bid& b);

/// Whom a rank sends to in one step, -1 for nobody, and receives from.
struct StepPartners {
  int agent = -1;
  std::vector<int> origins;
};
void fields(auto&& take, Is<StepPartners> auto& it) { take(it.agent, it.origins); }

/// What a round of bids is for.
enum class Stage {
  compete,  ///< the better bid displaces the other
  fill,     ///< who is left asks those that have no origin; nobody is displaced
  share,    ///< who is left asks those that have one origin at most
};

class RegionLeader {
 public:
  using Ranks = std::vector<int>;

  /// `destinations` holds, by member, its out-neighbours other than itself, ascending; `sources`,
  /// by such out-neighbour, those that it receives from, ascending.
  RegionLeader(const Machine& machine, const Halves& halves, int region,
               const std::map<int, Ranks>& destinations, const std::map<int, Ranks>& sources);

  /// Regions in which members may find agents, ascending: bids go there and answers come from
  /// there. The other region finds this one among its `inward`.
  [[nodiscard]] const Ranks& outward() const { return outward_; }
  [[nodiscard]] const Ranks& inward() const { return inward_; }

  /// The bids of a round for each outward region.
  std::vector<std::vector<Bid>> bid(Stage stage);
  /// Decides on the bids of a round, all of them at once.
  void decide(Stage stage, std::vector<Bid> bids);
  /// The bids that members hold, for an inward region; the region's own among them.
  [[nodiscard]] std::vector<Bid> answer(int region) const;
  /// What an outward region answers.
  void learn(int region, std::span<const Bid> answer);

  /// By step, for a member.
  [[nodiscard]] std::vector<StepPartners> partners(int member) const;

 private:
  /// A rank of another region that may become the agent of members.
  struct Candidate {
    int rank = 0;
    int step = 0;
    Bid held;         ///< the best bid known
    int bidder = -1;  ///< the place of the member whose bid that is
    int load = 0;     ///< origins that it is known to have
  };
  struct Wish {
    std::vector<Bid> bids;  ///< the first `open` are a heap, the best first; the others were tried
    std::size_t open = 0;
    int candidate = -1;  ///< the place of the one that is asked or holds this rank
    bool told = false;   ///< its region leader knows of the bid
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
  std::vector<std::vector<Bid>> held_;  ///< by member and step: of other regions' ranks
};

}  // namespace vicinal::halving
