// A persistent neighborhood collective, with a plan of its own. Such plans are made in bytes, since the two ends of an edge may describe
// the same data by different datatypes, and since that lets the ends compare their counts.
#pragma once

#include <mpi.h>

#include <memory>
#include <optional>

#include "collectives/graph.hpp"
#include "collectives/request.hpp"
#include "collectives/side.hpp"
#include "execute/execution.hpp"

namespace vicinal {

class PersistentRequest final : public Request {
 public:
  /// Collective over the ranks of the graph that have neighbours. Buffers stay the user's, and stay
  /// in place. `fault`: what the caller already knows to be wrong with the arguments. Throws on the
  /// rank at fault and on those that communicate with it.
  PersistentRequest(std::shared_ptr<Graph> graph, NeighborArguments arguments,
                    const Settings& settings, std::optional<Error> fault = std::nullopt);

  void start() override;
  bool test() override;
  void wait() override;
  [[nodiscard]] bool in_flight() const override { return execution_->in_flight(); }
  void name_awaited(std::ostream& out) const override { execution_->name_awaited(out); }
  [[nodiscard]] Ownership ownership() const override { return Ownership::persistent; }
  [[nodiscard]] MPI_Comm error_communicator() const override {
    return graph_->error_communicator();
  }
  [[nodiscard]] const AgreedPlan& plan() const { return execution_->plan(); }

 private:
  std::shared_ptr<Graph> graph_;
  Side send_;
  Side receive_;
  std::unique_ptr<Execution> execution_;
};

}  // namespace vicinal
