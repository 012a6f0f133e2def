// Blocking and nonblocking neighborhood collectives. collectives/call_queue.hpp tells how they are
// carried out.
#pragma once

#include <memory>
#include <optional>

#include "collectives/call_queue.hpp"
#include "collectives/edge_data.hpp"
#include "collectives/graph.hpp"
#include "collectives/request.hpp"

namespace vicinal {

/// Forms of a call: in the blocking form, the caller waits for its end. The form is the same on all
/// ranks.
enum class Form : std::uint8_t { blocking, nonblocking };

/// Begins a nonblocking call, with the settings of the graph, and returns its single-use request.
/// Never waits for another rank. `fault`: an error that the caller has already detected in the
/// arguments; `equal_blocks` and `one_block` must be right all the same. A fault affects this call
/// alone: ranks whose data depend on this rank's learn of it, and later calls work.
std::unique_ptr<Request> begin_neighbor_call(const std::shared_ptr<Graph>& graph,
                                             NeighborArguments&& arguments,
                                             std::optional<Error> fault);
/// Carries out a blocking call, from beginning to end.
void complete_neighbor_call(Graph& graph, NeighborArguments&& arguments,
                            std::optional<Error> fault);

/// Returns the request of a nonblocking call that has entered a queue. Throws the fault of a
/// refused call.
std::unique_ptr<Request> request_of(const std::shared_ptr<Graph>& graph,
                                    CallQueue::Entered entered);
/// Waits for a blocking call that has entered a queue. Throws the fault of a refused call, once
/// other ranks no longer need this rank.
void finish(const CallQueue::Entered& entered);

}  // namespace vicinal
