// An alltoallv, alltoallw or allgatherv as one message per edge, straight between the users'
// buffers.
#pragma once

#include <mpi.h>

#include <map>
#include <memory>

#include "collectives/edge_data.hpp"
#include "collectives/graph.hpp"
#include "collectives/kept_plan.hpp"
#include "collectives/request.hpp"
#include "execute/execution.hpp"
#include "mpi/messages.hpp"

namespace vicinal {

class DirectCall final : public Request {
 public:
  /// Begins it; local. `tags` is a direct plan, agreed on for the sake of its tags. Edges to the
  /// own rank are served at once.
  DirectCall(std::shared_ptr<Graph> graph, std::shared_ptr<KeptPlan> tags, const EdgeData& send,
             const EdgeData& receive);
  ~DirectCall() override;

  void start() override;
  bool test() override;
  void wait() override;
  [[nodiscard]] bool in_flight() const override { return in_flight_; }
  [[nodiscard]] Ownership ownership() const override { return Ownership::single_use; }
  [[nodiscard]] MPI_Comm user() const override { return graph_->user(); }

 private:
  void describe(std::ostream& out) const;
  void copy_own(const EdgeData& send, const EdgeData& receive);

  std::shared_ptr<Graph> graph_;
  std::shared_ptr<KeptPlan> tags_;
  mpi::MessageBatch messages_;
  bool in_flight_ = true;
  int polls_ = 0;
  PendingNote note_;  ///< destroyed first
};

/// The plan that gives each pair of ranks a tag, made when first asked for: then collective over
/// the ranks of the graph that have neighbours.
std::shared_ptr<KeptPlan> tag_plan(Graph& graph);

}  // namespace vicinal
