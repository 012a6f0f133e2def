// The part of a graph that all of its plans share: which ranks talk to each other, at the level of
// regions. It depends on the edges alone, never on counts. So every rank knows how many control
// messages to expect in each superstep of a negotiation, even if another rank's counts are wrong. A
// rank knows its own component only, so planning never makes one component wait for another.
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
#include "negotiate/rank_tree.hpp"

namespace vicinal {

/// Another region that members of the own region send to (or receive from).
struct RegionLink {
  int region = 0;
  int contact_here = 0;      ///< lowest rank of the own region with an edge of this link
  int contact_there = 0;     ///< lowest rank of the other region with an edge of this link
  std::vector<int> members;  ///< ranks of the own region with edges of this link, ascending
};

/// The links of the ranks in one region and component. All these ranks find the same.
struct RegionLinks {
  std::vector<int> active;      ///< participating ranks, ascending
  std::vector<RegionLink> out;  ///< by region
  std::vector<RegionLink> in;
};

/// Links of a rank that does not participate.
inline const RegionLinks no_links;

struct Neighborhood {
  std::shared_ptr<const Machine> machine;
  int rank = 0;
  std::vector<int> sources;       ///< in the user's order, with repetitions
  std::vector<int> destinations;  ///< in the user's order, with repetitions
  std::shared_ptr<const RegionLinks> links = {std::shared_ptr<const void>(), &no_links};
  RankTree tree;                ///< this rank's place in the tree of its component
  std::int64_t most_edges = 0;  ///< largest of any rank of the communicator, out or in

  [[nodiscard]] const std::vector<int>& active() const { return links->active; }
  [[nodiscard]] const std::vector<RegionLink>& out() const { return links->out; }
  [[nodiscard]] const std::vector<RegionLink>& in() const { return links->in; }
  [[nodiscard]] int region() const { return machine->region_of(rank); }
  [[nodiscard]] bool has_edges() const { return !sources.empty() || !destinations.empty(); }
  /// Returns whether this rank plans and executes with others: it has edges, or may lead without
  /// (Premises).
  [[nodiscard]] bool takes_part() const { return !active().empty(); }
  /// Returns the ranks that may wait for this rank, in planning or in executions with relays: its
  /// neighbours and its region.
  [[nodiscard]] std::set<int> dependents() const;
};

/// A rank's input to the creation of a graph, besides its edges.
struct Premises {
  std::int64_t fingerprint = 0;  ///< of the settings; must be equal on all ranks
  std::function<std::vector<Given>()> settings = {};  ///< called if fingerprints differ
  /// A fault that this rank has already detected. Its edges and its machine's regions then do not
  /// count.
  std::optional<Error> fault = std::nullopt;
  /// True: ranks without edges participate in everything that their region does, so that they may
  /// lead there. Each region then belongs to one component.
  bool idle_ranks_lead = false;
  /// The system's machine, which is equal on all ranks whatever their settings. Null: `machine` is.
  std::shared_ptr<const Machine> detected = nullptr;
};

/// Builds the neighborhood. Collective over the communicator. Ranks without neighbours participate,
/// so that no rank needs them later, unless they may lead. Throws an error on all ranks if a
/// rank reports a fault or if settings differ (info). Also throws one if an edge is not named
/// equally often at both ends (count).
Task<Neighborhood> make_neighborhood(Conversation& conversation,
                                     std::shared_ptr<const Machine> machine, int rank,
                                     std::vector<int> sources, std::vector<int> destinations,
                                     Premises premises = {});

}  // namespace vicinal
