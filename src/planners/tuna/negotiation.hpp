// The agreement of ranks on stored and forwarded blocks: on a scheme for all ranks, then with one
// superstep for each digit. In each, a rank hands on the blocks that move by this digit, as a list
// of their element counts, and names the passage. So every intermediate rank learns which blocks
// pass, and the last rank of a block is its destination.
//
// A count is known at the ends of its edge only, so the ranks choose the scheme in a tree
// allreduce. It gives the root the largest load of a rank, the load of all ranks, and the number of
// nonempty blocks. The root compares schemes by the profile, for all. It assumes that each rank has
// the largest load, since few large blocks must not travel with many small ones. Resources that a
// host's ranks share are assumed to serve one such rank, and others with the mean load.
//
// A block carries the number of elements that its origin expects back from the destination. Both
// ends of all edges thus learn both counts, without control messages along edges.
//
// Data received for others lies in a store, with a place of its own for each block. A message waits
// for its own contents, not for the previous superstep. So blocks of several supersteps may be
// present at once, and places cannot be reused as in the papers. Data for the receiver itself goes
// directly to its place in the target.
#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "negotiate/ground.hpp"
#include "negotiate/planner.hpp"
#include "planners/tuna/route.hpp"

namespace vicinal::tuna {

/// The alternatives of a decision.
enum class Among : std::uint8_t {
  all_ranks,  ///< the radices among all ranks
  regions,    ///< the radices inside regions, and between them
  planners,   ///< both, and the relays of `automatic`
};

struct Decision {
  static constexpr std::string_view name = "how blocks go";
  bool forwards = false;  ///< blocks go by the scheme
  Scheme scheme;
  std::string reason;  ///< for users
};
void fields(auto&& take, Is<Decision> auto& it) { take(it.forwards, it.scheme, it.reason); }

/// Decides. Collective over the ranks of a complete graph, with two control messages for each. If a
/// rank reports a fault, every record has it afterwards, and nothing is decided.
Task<Decision> decide(const PlanRequest& request, FaultRecord& faults, Among among);

/// The data of an origin for a destination.
struct Block {
  int origin = 0;
  int destination = 0;
  Index count = 0;
  Index expected = 0;  ///< elements that the origin expects in return
};
void fields(auto&& take, Is<Block> auto& it) {
  take(it.origin, it.destination, it.count, it.expected);
}

/// To the next holder of some blocks.
struct Forwarded {
  static constexpr std::string_view name = "forwarded blocks";
  Status status;
  Passage passage;  ///< as long as all blocks together
  std::vector<Block> blocks;
};
void fields(auto&& take, Is<Forwarded> auto& it) { take(it.status, it.passage, it.blocks); }

class TunaNegotiation : public Ground {
 public:
  explicit TunaNegotiation(PlanRequest& request);

  /// Plans by the fastest of some schemes, or by the radix that the user asked for.
  Task<Plans> run_fastest(Among among, std::string_view planner);
  /// Plans by a scheme that is equal on all ranks.
  Task<Plans> run(Scheme scheme, std::string_view planner, std::string reason = {});

 private:
  /// A block that this rank holds.
  struct Held {
    Block block;
    Index offset = -1;  ///< in the store of forwarded data; -1: this rank's own block
  };
  /// The data to or from one rank in one superstep.
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
  void accept(int giver, Forwarded message, Superstep& now);
  void compare_counts();
  void write_transfers();

  std::vector<Held> held_;                          ///< blocks for others
  std::map<int, std::pair<Index, Index>> arrived_;  ///< by origin: count, and what it expects
  std::vector<Superstep> supersteps_;
  Index passing_ = 0;  ///< elements received for others
};

}  // namespace vicinal::tuna
