// What a graph knows, once and for all of its plans: who talks to whom at the level of regions. It
// depends on the edges alone, never on counts, so every rank knows from it how many letters to expect
// in each superstep of a negotiation, even when another rank's counts are wrong. A rank knows of its own
// component only: whatever is planned on this ground never makes one component wait for another.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <vector>

#include "base/conversation.hpp"
#include "base/error.hpp"
#include "base/given.hpp"
#include "locality/machine.hpp"
#include "planners/rank_tree.hpp"

namespace vicinal {

/// Another region that members of the own region send to (or receive from).
struct RegionLink {
  int region = 0;
  int contact_here = 0;      ///< lowest rank of the own region with an edge of this link
  int contact_there = 0;     ///< lowest rank of the other region with an edge of this link
  std::vector<int> members;  ///< ranks of the own region with edges of this link, ascending
};

/// What the ranks of one region and component have found alike: who they are, and all links that any of them has.
struct RegionLinks {
  std::vector<int> active;      ///< ranks that take part, ascending
  std::vector<RegionLink> out;  ///< by region
  std::vector<RegionLink> in;
};

/// Those of a rank that takes part in nothing.
inline const RegionLinks no_links;

struct Neighborhood {
  std::shared_ptr<const Machine> machine;
  int rank = 0;
  std::vector<int> sources;       ///< in the user's order, with repetitions
  std::vector<int> destinations;  ///< in the user's order, with repetitions
  std::shared_ptr<const RegionLinks> links = {std::shared_ptr<const void>(), &no_links};
  RankTree tree;                ///< this rank's place in a tree of all ranks of its component
  std::int64_t most_edges = 0;  ///< out or in, of whichever rank of the communicator has most

  [[nodiscard]] const std::vector<int>& active() const { return links->active; }
  [[nodiscard]] const std::vector<RegionLink>& out() const { return links->out; }
  [[nodiscard]] const std::vector<RegionLink>& in() const { return links->in; }
  [[nodiscard]] int region() const { return machine->region_of(rank); }
  [[nodiscard]] bool has_edges() const { return !sources.empty() || !destinations.empty(); }
  /// Whether this rank plans and executes with others: where it has edges, or may lead without (Premises).
  [[nodiscard]] bool takes_part() const { return !active().empty(); }
  /// Whoever may wait for this rank in planning, or in an execution of a plan by relays: its neighbours and its region.
  [[nodiscard]] std::set<int> dependents() const;
};

/// What a rank brings to the creation of a graph beside its edges.
struct Premises {
  std::int64_t fingerprint = 0;  ///< of the settings, of which all ranks must give the same
  std::function<std::vector<Given>()> settings = {};  ///< these, for where they differ
  /// What this rank knows to be wrong already. Its edges and its machine's regions then do not count.
  std::optional<Error> fault = std::nullopt;
  /// Whether ranks without edges take part in all that their region does, so that they may lead there. Then no region has
  /// ranks of different components.
  bool idle_ranks_lead = false;
};

/// Builds the neighborhood. Collective over the communicator: ranks without neighbours take part, so
/// that nobody needs them later, unless they may lead. Throws a SettledFault on every rank where one brings a fault, where
/// settings differ (info), or where an edge is not known at both ends equally often (count).
Task<Neighborhood> make_neighborhood(Conversation& conversation,
                                     std::shared_ptr<const Machine> machine, int rank,
                                     std::vector<int> sources, std::vector<int> destinations,
                                     Premises premises = {});

}  // namespace vicinal
