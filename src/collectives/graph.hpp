// A graph: who talks to whom on a communicator. Creating one is collective: all ranks make sure that
// they agree on its edges and on the settings. Creating the first one on a communicator also sets that
// up (private duplicate, locality, arena).
#pragma once

#include <mpi.h>

#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <vector>

#include "collectives/kept_plan.hpp"
#include "collectives/settings.hpp"
#include "execute/agreed_plan.hpp"
#include "mpi/drive.hpp"
#include "planners/neighborhood.hpp"

namespace vicinal {

/// One side of a graph as its user sees it. Entry i of an array of counts belongs to ranks[i].
struct Ends {
  Ends() = default;
  /// An edge for each entry, in the same order.
  explicit Ends(std::vector<int> all);
  Ends(std::vector<int> all, std::vector<int> order)
      : ranks(std::move(all)), entry_of(std::move(order)) {}

  std::vector<int> ranks;     ///< MPI_PROC_NULL where an entry is no edge
  std::vector<int> entry_of;  ///< by edge, in the order in which edges between two ranks pair
};

class Graph {
 public:
  /// Collective over `user`. `sources` and `destinations` may repeat ranks and name the own rank.
  /// `fault`: what the caller already knows to be wrong; it is told to the others, then thrown.
  Graph(MPI_Comm user, Ends sources, Ends destinations, Settings settings,
        std::optional<Error> fault = std::nullopt);
  Graph(MPI_Comm user, std::vector<int> sources, std::vector<int> destinations, Settings settings,
        std::optional<Error> fault = std::nullopt)
      : Graph(user, Ends(std::move(sources)), Ends(std::move(destinations)), std::move(settings),
              std::move(fault)) {}
  /// The edges of the topology that `user` has. Collective over `user`. A topology fault where it
  /// has none.
  static std::shared_ptr<Graph> from_topology(MPI_Comm user, Settings settings,
                                              std::optional<Error> fault = std::nullopt);
  /// From what each rank knows of one side only: the ranks it sends to, or with `are_sources` those it
  /// receives from. The others are told by a sparse exchange, and found in ascending order.
  /// Collective over `user`.
  static std::shared_ptr<Graph> from_one_side(MPI_Comm user, std::vector<int> known,
                                              bool are_sources, Settings settings,
                                              std::optional<Error> fault = std::nullopt);
  /// An edge between any two ranks, and from each to itself, in the order of ranks. Collective over
  /// `user`.
  static std::shared_ptr<Graph> complete(MPI_Comm user, Settings settings,
                                         std::optional<Error> fault = std::nullopt);

  /// Plans a pattern whose edges are this graph's, in its order. Collective over the ranks that
  /// have neighbours. `fault`: what this rank already knows to be wrong; it is told to the others,
  /// then thrown. Throws on every rank that communicates with one at fault.
  std::shared_ptr<AgreedPlan> plan(const Pattern& pattern, const Planner& planner,
                                   const PlanOptions& options, std::optional<Error> fault);

  /// The planner that settings name for a collective: vicinal_allgather where every rank's one block
  /// goes to all ranks, else vicinal_strategy.
  [[nodiscard]] const Planner& planner(const Settings& settings, bool one_block) const;

  /// Gives up a plan in which this rank cannot even take part, since it does not know the planner:
  /// tells the neighbours, then throws the fault.
  [[noreturn]] void refuse_plan(const Error& fault);

  /// Gives up the whole graph for a fault in a call whose plan the others may have already: there
  /// is no telling what they wait for. Tells them, then throws the fault.
  [[noreturn]] void give_up(const Error& fault);

  /// The plan that calls of a kind share; null until one has made it.
  std::shared_ptr<KeptPlan>& kept(KeptPlan::Kind kind) { return kept_[kind]; }
  /// Makes it, with that many executions. As plan(); a fault is kept in its place, then thrown,
  /// since ranks further away may have a plan all the same.
  void keep(std::shared_ptr<KeptPlan>& kept, const Pattern& pattern, const Planner& planner,
            const PlanOptions& options, int executions);
  /// The plan that allgathers of a complete graph share whose blocks have these sizes, one for each
  /// rank; null until one has made it. Of so many sizes the last few are kept: since all ranks know
  /// all sizes, they keep the same.
  std::shared_ptr<KeptPlan>& kept_by_sizes(const std::vector<Index>& bytes) {
    return by_sizes_.find(bytes);
  }
  /// Throws where the graph was given up.
  void require_sound() const {
    if (given_up_) throw Error(*given_up_);
  }

  [[nodiscard]] const Ends& sources() const { return sources_; }
  [[nodiscard]] const Ends& destinations() const { return destinations_; }
  [[nodiscard]] const Neighborhood& neighborhood() const { return neighborhood_; }
  [[nodiscard]] mpi::Communicator& communicator() const { return *communicator_; }
  [[nodiscard]] const Settings& settings() const { return settings_; }
  [[nodiscard]] bool is_complete() const { return complete_; }
  /// Whose error handler hears of faults.
  [[nodiscard]] MPI_Comm user() const { return communicator_->judge(); }

 private:
  void tell(std::int64_t sequence, mpi::Notice notice, int origin) noexcept;

  Settings settings_;
  bool complete_ = false;
  Ends sources_;
  Ends destinations_;
  std::shared_ptr<mpi::Communicator> communicator_;
  std::int64_t id_ = 0;
  std::int64_t plans_ = 0;
  Neighborhood neighborhood_;
  std::map<KeptPlan::Kind, std::shared_ptr<KeptPlan>> kept_;
  RecentPlans by_sizes_;
  std::optional<Error> given_up_;
};

}  // namespace vicinal
