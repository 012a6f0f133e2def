// The calls of one kind on a graph, blocking and nonblocking, in order.
//
// A call takes its number when it enters, before any of its arguments are looked at, and everything on
// which ranks must agree follows from kind, number and form (blocking or not) alone: whether it goes
// straight, with which tag, or by the plan, and in which of its channels. So a rank whose arguments are
// wrong knows all the same how to take part for the others' sake, and no fault puts ranks out of step.
//
//   blocks (alltoall, allgather)   The first call begins to negotiate a plan, in the background. Blocking
//                                  calls, which may wait, use it from then on. Nonblocking ones post one
//                                  message per edge at once until call `first_queued`; later ones wait in a
//                                  queue where the plan, or its channel, is not ready yet.
//   edges (the v and w forms)      One message per edge, always: counts may change on one edge without
//                                  the others knowing.
#pragma once

#include <array>
#include <cstdint>
#include <exception>
#include <memory>
#include <optional>
#include <vector>

#include "base/guarded.hpp"
#include "collectives/call.hpp"
#include "collectives/direct_call.hpp"
#include "collectives/edge_data.hpp"
#include "collectives/planned_call.hpp"
#include "mpi/communicator.hpp"

namespace vicinal {

class CallQueue {
 public:
  CallQueue(CallKind kind, const Graph& graph);

  struct Entered {
    std::shared_ptr<Call> call;
    std::exception_ptr
        refused;  ///< what is wrong with the arguments, if anything is: then the call is one
                  ///< in which this rank takes part for the others' sake
  };

  /// A call enters, with the settings of the graph. Never waits: what cannot be done yet is done later.
  /// `fault` is what the caller knows already to be wrong.
  Entered enter(Graph& graph, NeighborArguments arguments, std::optional<Error> fault,
                bool blocking);

 private:
  static constexpr std::int64_t first_queued = 8;

  [[nodiscard]] bool goes_by_plan(const Graph& graph, std::int64_t number, bool blocking) const;
  void begin_planning(Graph& graph) VICINAL_REQUIRES(mutex_);
  [[nodiscard]] std::shared_ptr<Call> direct_call(std::int64_t number, NeighborArguments* arguments)
      VICINAL_REQUIRES(mutex_);
  [[nodiscard]] std::shared_ptr<Call> planned_call(const Graph& graph, std::int64_t number,
                                                   NeighborArguments* arguments)
      VICINAL_REQUIRES(mutex_);

  const CallKind kind_;
  const std::shared_ptr<const DirectRoute> route_;
  Mutex mutex_;
  std::int64_t entered_ VICINAL_GUARDED_BY(mutex_) = 0;
  bool warned_ VICINAL_GUARDED_BY(mutex_) = false;  ///< that nonblocking calls are never planned
  std::array<std::weak_ptr<const Call>, GraphTags::turns> direct_
      VICINAL_GUARDED_BY(mutex_);  ///< the last of each turn
  std::vector<std::shared_ptr<PlanTurn>> planned_ VICINAL_GUARDED_BY(mutex_);
};

}  // namespace vicinal
