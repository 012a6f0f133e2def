// Blocking and nonblocking neighborhood collectives: see collectives/call_queue.hpp for how they go.
#pragma once

#include <memory>
#include <optional>

#include "collectives/call_queue.hpp"
#include "collectives/edge_data.hpp"
#include "collectives/graph.hpp"
#include "collectives/request.hpp"

namespace vicinal {

/// Whether whoever calls waits for the end of the call anyway. The same on all ranks.
enum class Form : std::uint8_t { blocking, nonblocking };

/// Begins a nonblocking call, with the settings of the graph; the request is of single use. Never waits for another
/// rank. `fault`: what the caller already knows to be wrong with the arguments, of which `equal_blocks`
/// and `one_block` must be right all the same. A fault is this call's alone: ranks whose data depend on
/// this rank's hear of it, and later calls are as good as ever.
std::unique_ptr<Request> begin_neighbor_call(const std::shared_ptr<Graph>& graph,
                                             NeighborArguments&& arguments,
                                             std::optional<Error> fault);
/// A blocking one, from beginning to end.
void complete_neighbor_call(Graph& graph, NeighborArguments&& arguments,
                            std::optional<Error> fault);

/// The request of a nonblocking call that has entered a queue. Where it was refused its fault is thrown.
std::unique_ptr<Request> request_of(const std::shared_ptr<Graph>& graph,
                                    CallQueue::Entered entered);
/// Waits for a blocking call that has entered a queue; one that was refused throws its fault once the others need this
/// rank no more.
void finish(const CallQueue::Entered& entered);

}  // namespace vicinal
