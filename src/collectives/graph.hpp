// A graph: who talks to whom on a communicator. Creating the first one on a communicator is collective
// (private duplicate, locality, arena); for later ones only the ranks of a region exchange letters.
#pragma once

#include <mpi.h>

#include <memory>
#include <optional>
#include <set>
#include <span>
#include <vector>

#include "collectives/settings.hpp"
#include "execute/agreed_plan.hpp"
#include "mpi/drive.hpp"
#include "planners/neighborhood.hpp"

namespace vicinal {

class Graph {
 public:
  /// Collective over `user`. `sources` and `destinations` may repeat ranks and name the own rank.
  /// `fault`: what the caller already knows to be wrong; it is told to the others, then thrown.
  Graph(MPI_Comm user, std::vector<int> sources, std::vector<int> destinations, Settings settings,
        std::optional<Error> fault = std::nullopt);

  /// Plans a pattern whose edges are this graph's, in its order. Collective over the ranks that have
  /// neighbours. `fault`: what this rank already knows to be wrong; it is told to the others, then
  /// thrown. Throws on every rank that communicates with one at fault.
  std::shared_ptr<AgreedPlan> plan(const Pattern& pattern, const Planner& planner,
                                   const PlanOptions& options, std::optional<Error> fault);

  /// Gives up a plan in which this rank cannot even take part, since it does not know the planner:
  /// tells the neighbours, then throws the fault.
  [[noreturn]] void refuse_plan(const Error& fault);

  [[nodiscard]] const Neighborhood& neighborhood() const { return neighborhood_; }
  [[nodiscard]] mpi::Communicator& communicator() const { return *communicator_; }
  [[nodiscard]] const Settings& settings() const { return settings_; }
  /// Whose error handler hears of faults.
  [[nodiscard]] MPI_Comm user() const { return communicator_->judge(); }

 private:
  void tell(std::int64_t sequence, mpi::Notice notice, int origin) noexcept;

  Settings settings_;
  std::shared_ptr<mpi::Communicator> communicator_;
  std::int64_t id_ = 0;
  std::int64_t plans_ = 0;
  Neighborhood neighborhood_;
};

}  // namespace vicinal
