// The planner interface and the table of planners. A planner turns a pattern and a locality into a
// plan and does nothing else. A new algorithm is one file in src/planners and one line in
// base/planner_list.hpp.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "base/conversation.hpp"
#include "cost/profile.hpp"
#include "negotiate/choice.hpp"
#include "negotiate/faults.hpp"
#include "negotiate/neighborhood.hpp"
#include "pattern/pattern.hpp"
#include "plan/placement.hpp"
#include "plan/plan.hpp"

namespace vicinal {

/// The resources that planning takes from its environment.
class Site {
 public:
  virtual ~Site() = default;
  /// Returns a number that no other live message of this rank uses.
  virtual std::int64_t new_tag() = 0;
  /// Returns a slot in the arena of this host that this rank owns, with room for `peers` peers.
  virtual std::int64_t new_slot(int peers) = 0;
};

struct PlanOptions {
  bool shared_memory = true;  ///< ranks of a host exchange data through the arena
  bool with_reverse = false;  ///< also plan the reverse
  bool one_block = false;     ///< all edges of each rank carry the same items, as in an allgather
  /// Each rank has an edge to and from each other rank; in allgathers one, and one to itself.
  bool complete = false;
  bool partitioned = false;      ///< edges become ready, and are reported, in partitions
  bool idle_ranks_lead = false;  ///< ranks without edges participate, and may lead in their region
  Index element_bytes = 1;       ///< for cost decisions; the plan itself is in elements
  /// For a halo's persistent requests: the bytes per index, which must be equal on all ranks.
  std::optional<Index> index_bytes = {};
  bool any_size = false;  ///< the plan serves elements of any size: element_bytes is a guess
  const char* unit = "elements";  ///< name of an element in error messages
  int leader_shift = 0;           ///< shifts leaders by this many members; for measurements
  /// `split` and `automatic` use a leader for each this many bytes; 0: the model chooses.
  Index split_bytes = 65536;
  /// The planner was chosen to use no leaders where nothing would progress them.
  bool strict_progress = false;
  /// The planner that the user asked for, if another one is used.
  std::string_view asked_for = {};
  std::string not_taken_since = {};  ///< why `asked_for` is not used
  bool verify = false;               ///< all ranks together prove the finished plans
  int group_size = 0;                ///< largest group of `common-neighbor`; 0: the model chooses
  /// Radix of `tuna`, `tuna-hierarchical` and `cascade`; 0: the model chooses.
  int radix = 0;
  std::optional<DeviceTransport> device_transport = {};  ///< unset: the cheaper one by the profile
  /// This rank's buffers are expected in GPU memory; those of other ranks may lie elsewhere.
  bool on_device = false;
  Profile profile = default_profile();
  // Settings for the choice of a planner.
  Bias bias = {};
  Choice choice = Choice::adaptive;
  int plan_after = 8;       ///< executions before contenders are planned
  std::string wisdom = {};  ///< file of measured decisions; "" for none
};

struct PlanRequest {
  Conversation& conversation;
  Site& site;
  const Neighborhood& neighborhood;
  const Pattern& pattern;
  const PlanOptions& options;
  /// A fault found before planning. The rank participates nevertheless, so that other ranks learn
  /// of it instead of waiting.
  std::optional<Error> fault;
};

/// Expected seconds of the busiest rank of this rank's region, for its traffic with all other
/// regions.
struct Forecast {
  double by_plan = 0;     ///< 0 if the planner has no forecast
  double by_message = 0;  ///< with one message for each edge
};

struct Plans {
  Plan forward;
  std::optional<Plan> reverse;
  /// The reason for the choice, for users; "" if the planner's name says all.
  std::string reason = {};
  Index element_bytes = 1;  ///< the size that the plan was chosen for
  Forecast forecast = {};
};

struct PlannerKind {
  std::string_view summary;
  Task<Plans> (*plan)(PlanRequest request);
  /// The reason why it cannot plan the reverse; empty if it can.
  std::string_view forward_only = {};
  /// The reason why all edges of a rank must carry the same items, as in an allgather; empty if
  /// they need not.
  std::string_view one_block_only = {};
  /// True: it needs an edge between any two ranks, as in an allgather or an alltoall over all of
  /// them.
  bool complete_only = false;
};

struct Planner : PlannerKind {
  std::string_view name;
};

/// Returns all planners, the baseline first.
std::span<const Planner> planners();

/// Returns the planner of that name; throws an info fault that lists the names if there is none.
const Planner& find_planner(std::string_view name);

/// Returns why the planner cannot serve the options: "serves allgathers only: it ..."; "" if it
/// can.
std::string shortcoming(const Planner& planner, const PlanOptions& options);

/// Returns whether the planner can serve the options.
bool serves(const Planner& planner, const PlanOptions& options);

/// Throws an info fault with the reason if the planner cannot serve the options.
void require_serves(const Planner& planner, const PlanOptions& options);

}  // namespace vicinal
