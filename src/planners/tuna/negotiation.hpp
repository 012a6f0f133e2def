// How ranks agree on what they store and forward: one superstep for each digit. In each a rank hands on what has the digit
// there, as lists of how many elements each block has, and says by what way they will come. So everybody on the way learns
// what passes, and the last one of a block is its destination.
//
// A block takes along how many elements its origin expects back from its destination. Both ends of all edges then know
// both counts, and no letter goes along edges.
//
// What is received for others lies in a store of its own, each block in a place of its own: what is to be sent waits for
// what it consists of, not for the superstep before, so blocks of several supersteps may be there at once, and places cannot
// be used again as in the papers. What is for the receiver itself goes straight to its place in the target.
#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "planners/ground.hpp"
#include "planners/tuna/choice.hpp"
#include "planners/tuna/route.hpp"

namespace vicinal::tuna {

/// What an origin has for a destination.
struct Block {
  int origin = 0;
  int destination = 0;
  Index count = 0;
  Index expected = 0;  ///< the other way round
};
void fields(auto&& take, Is<Block> auto& it) {
  take(it.origin, it.destination, it.count, it.expected);
}

/// To whoever has some blocks next.
struct Forwarded {
  static constexpr std::string_view name = "forwarded blocks";
  Status status;
  Passage passage;  ///< of as many elements as all blocks have
  std::vector<Block> blocks;
};
void fields(auto&& take, Is<Forwarded> auto& it) { take(it.status, it.passage, it.blocks); }

class TunaNegotiation : public Ground {
 public:
  explicit TunaNegotiation(PlanRequest& request);

  /// By the fastest scheme among some, or, inside regions or among all ranks, by the radix that was asked for.
  Task<Plans> run_fastest(Among among, std::string_view planner);
  /// By a scheme that all ranks have alike.
  Task<Plans> run(Scheme scheme, std::string_view planner, std::string reason = {});

 private:
  /// A block that this rank holds.
  struct Held {
    Block block;
    Index offset = -1;  ///< in the store of what passes; -1: it is this rank's own
  };
  /// What goes to one rank in one superstep, or comes from there.
  struct Hop {
    int peer = 0;
    Passage passage;
    std::vector<Part> pieces;  ///< give: store -> message; take: message -> store
  };
  struct Superstep {
    std::vector<Hop> gives;
    std::vector<Hop> takes;
  };

  void hold_own();
  Task<Done> forward(const Route& route, int superstep);
  Forwarded hand_on(int taker, std::vector<Held> blocks, Superstep& now);
  void accept(int giver, Forwarded letter, Superstep& now);
  void compare_counts();
  void write_transfers();

  std::vector<Held> held_;                          ///< for others
  std::map<int, std::pair<Index, Index>> arrived_;  ///< by origin: count, and what it expects
  std::vector<Superstep> supersteps_;
  Index passing_ = 0;  ///< elements that are received for others
};

}  // namespace vicinal::tuna
