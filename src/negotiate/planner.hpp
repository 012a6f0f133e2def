// The planner interface and the table of planners. A planner turns a pattern and a locality into a
// plan and does nothing else. A new algorithm is one file in this folder and one line in table.cpp.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "base/conversation.hpp"
#include "cost/profile.hpp"
#include "pattern/pattern.hpp"
#include "plan/placement.hpp"
#include "plan/plan.hpp"
#include "planners/bias.hpp"
#include "planners/choice.hpp"
#include "planners/faults.hpp"
#include "planners/neighborhood.hpp"

namespace vicinal {

/// What planning draws from the place where it runs.
class Site {
 public:
  virtual ~Site() = default;
  /// A number that no other live message of this rank uses.
  virtual std::int64_t new_tag() = 0;
  /// A slot in the arena of this host that this rank owns, with room for `peers` peers.
  virtual std::int64_t new_slot(int peers) = 0;
};

struct PlanOptions {
  bool shared_memory = true;  ///< ranks of a host hand data over through the arena
  bool with_reverse = false;  ///< also plan the reverse
  bool one_block = false;     ///< all edges of each rank carry the same items, as in an allgather
  bool complete =
      false;  ///< each rank has an edge to and from each other; in allgathers one, and one to itself
  bool partitioned = false;      ///< edges become ready, and are heard of, in partitions
  bool idle_ranks_lead = false;  ///< ranks without edges take part, and may lead in their region
  Index element_bytes = 1;       ///< for cost decisions; the plan itself is in elements
  /// Of a halo's persistent requests: what moves for each index, which all ranks must give alike.
  std::optional<Index> index_bytes = {};
  bool any_size = false;          ///< it will serve elements of any size: that one is a guess
  const char* unit = "elements";  ///< what messages to people call an element
  int leader_shift = 0;  ///< leaders are taken this many members further on: for measurements
  Index split_bytes =
      65536;  ///< `split` and `automatic` take a leader for each this many bytes; 0: the model's choice
  bool strict_progress =
      false;  ///< no leaders where nothing would progress them: the planner was chosen for it
  std::string_view asked_for =
      {};  ///< the planner that a person asked for, where that is another one
  std::string not_taken_since = {};  ///< and why that one is not taken
  bool verify = false;               ///< prove the plans once they are made, by all ranks together
  int group_size = 0;  ///< most ranks of a `common-neighbor` group; 0: the model's choice
  int radix =
      0;  ///< with which `tuna` and `tuna-hierarchical` store and forward; 0: the model's choice
  std::optional<DeviceWay> device_way = {};  ///< or else the one that the profile has cheaper
  bool on_device =
      false;  ///< this rank's buffers are expected in a GPU's memory; others' may lie elsewhere
  Profile profile = default_profile();
  // Where a planner is chosen.
  Bias bias = {};
  Choice choice = Choice::adaptive;
  int plan_after = 8;       ///< executions before contenders are planned
  std::string wisdom = {};  ///< the file of what has been measured; "" for none
};

struct PlanRequest {
  Conversation& conversation;
  Site& site;
  const Neighborhood& neighborhood;
  const Pattern& pattern;
  const PlanOptions& options;
  /// A fault that this rank has found before planning. It takes part all the same, so that the
  /// others learn of it instead of waiting.
  std::optional<Error> fault;
};

/// What the busiest rank of this rank's region is expected to take with all other regions, in seconds.
struct Forecast {
  double by_plan = 0;     ///< 0 where the planner foresees nothing
  double by_message = 0;  ///< with one message for each edge
};

struct Plans {
  Plan forward;
  std::optional<Plan> reverse;
  std::string reason =
      {};  ///< why it is as it is, for people; "" where the planner's name says all
  Index element_bytes = 1;  ///< for which it was decided
  Forecast forecast = {};
};

struct Planner {
  std::string_view name;
  std::string_view summary;
  Task<Plans> (*plan)(PlanRequest request);
  /// Why it cannot plan the reverse too; empty where it can.
  std::string_view forward_only = {};
  /// Why all edges of a rank must carry the same items, as in an allgather; empty where they need not.
  std::string_view one_block_only = {};
  /// Whether it needs an edge between any two ranks: an allgather, or an alltoall, over all of them.
  bool complete_only = false;
};

/// All planners, the baseline first.
std::span<const Planner> planners();

/// The planner of that name; an info fault that lists the names where there is none.
const Planner& find_planner(std::string_view name);

/// Why the planner cannot serve what the options ask for: "serves allgathers only: it ..."; "" where it can.
std::string shortcoming(const Planner& planner, const PlanOptions& options);

/// Whether the planner can serve what the options ask for.
bool serves(const Planner& planner, const PlanOptions& options);

/// Refuses a planner that cannot serve what the options ask for, by an info fault with its reason.
void require_serves(const Planner& planner, const PlanOptions& options);

}  // namespace vicinal
