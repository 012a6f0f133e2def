// An alltoall, allgather or allgatherv that executes a plan which the graph keeps: in blocks, or for
// allgatherv in bytes.
#pragma once

#include <mpi.h>

#include <memory>
#include <optional>

#include "collectives/graph.hpp"
#include "collectives/kept_plan.hpp"
#include "collectives/request.hpp"
#include "collectives/side.hpp"

namespace vicinal {

class BlockCall final : public Request, private TurnHolder {
 public:
  /// Begins it. Where the plan's next turn is still held by an earlier call, that one is driven to
  /// its end first.
  BlockCall(std::shared_ptr<Graph> graph, std::shared_ptr<KeptPlan> plan, Side send, Side receive,
            std::int64_t element_bytes);
  ~BlockCall() override;

  void start() override;
  bool test() override;
  void wait() override;
  [[nodiscard]] bool in_flight() const override { return in_flight_; }
  [[nodiscard]] Ownership ownership() const override { return Ownership::single_use; }
  [[nodiscard]] MPI_Comm user() const override { return graph_->user(); }

 private:
  bool advance() override;

  std::shared_ptr<Graph> graph_;
  std::shared_ptr<KeptPlan> plan_;
  Side send_;
  Side receive_;
  KeptPlan::Turn& turn_;
  std::optional<Error> error_;  ///< with which the execution has ended; guarded by the turn
  bool in_flight_ = true;       ///< as far as the user has been told
};

/// The plan in bytes for an allgather of a complete graph whose blocks have the sizes of `receive`,
/// which lie end to end (Side::end_to_end). As block_plan.
std::shared_ptr<KeptPlan> sizes_plan(Graph& graph, const EdgeData& receive);

/// The plan for blocks of this size, made when first asked for: then collective over the ranks of
/// the graph that have neighbours.
std::shared_ptr<KeptPlan> block_plan(Graph& graph, bool one_block, std::int64_t block_bytes);

}  // namespace vicinal
