// What the ranks have agreed on at the end of a negotiation of the common-neighbor planner, as one
// rank sees it, and from which its plan is written.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "plan/plan.hpp"
#include "planners/relay/routes.hpp"

namespace vicinal::common_neighbor {

/// What this rank hands to its region through a slot.
struct Exhibit {
  std::int64_t slot = -1;
  Index extent = 0;
  int readers = 0;
  std::vector<CopyRun> pack;  ///< source -> slot
};

/// What another rank of the region hands to this one, for itself or to deliver.
struct Supply {
  int owner = 0;
  Via via = Via::message;
  std::int64_t slot = -1;      ///< shared
  int peer_index = -1;         ///< shared: which reader of the slot
  std::int64_t tag = -1;       ///< message
  Index extent = 0;            ///< of the slot or message
  std::vector<CopyRun> taken;  ///< slot -> target
};

/// One rank's elements in a message.
struct Ingredient {
  int rank = 0;
  std::vector<CopyRun> picks;  ///< that rank's supply, or the own source -> message
};

struct OutgoingMessage {
  int peer = 0;
  bool local = false;
  std::int64_t tag = -1;
  Index count = 0;
  std::vector<Ingredient> ingredients;
};

struct CommonNeighborRoutes {
  std::vector<CopyRun> self;  ///< edges to the own rank: source -> target
  std::optional<Exhibit> exhibit;
  std::vector<Straight> handed;  ///< to deliverers that share no memory with this rank
  std::vector<Supply> supplies;  ///< by owner
  std::vector<OutgoingMessage> messages;
  std::vector<Straight> receives;
};

Plan write_plan(const CommonNeighborRoutes& routes, int rank, int size);

}  // namespace vicinal::common_neighbor
