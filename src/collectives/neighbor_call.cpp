// Selects the queue that a call enters.
#include "collectives/neighbor_call.hpp"

#include "collectives/call.hpp"
#include "collectives/call_queue.hpp"
#include "mpi/backoff.hpp"

namespace vicinal {

namespace {

/// Returns an empty result on a rank that does not participate.
CallQueue::Entered enter(Graph& graph, NeighborArguments&& arguments, std::optional<Error> fault,
                         Form form) {
  if (!graph.neighborhood().takes_part()) {
    if (fault) throw Error(*fault);
    return {};
  }
  const bool gathers = arguments.send.one_block, equal = arguments.equal_blocks;
  const CallKind kind = gathers ? (equal ? CallKind::allgather : CallKind::allgatherv)
                                : (equal ? CallKind::alltoall : CallKind::alltoallv);
  return graph.calls(kind).enter(graph, std::move(arguments), std::move(fault),
                                 form == Form::blocking);
}

}  // namespace

std::unique_ptr<Request> begin_neighbor_call(const std::shared_ptr<Graph>& graph,
                                             NeighborArguments&& arguments,
                                             std::optional<Error> fault) {
  return request_of(graph,
                    enter(*graph, std::move(arguments), std::move(fault), Form::nonblocking));
}

void complete_neighbor_call(Graph& graph, NeighborArguments&& arguments,
                            std::optional<Error> fault) {
  finish(enter(graph, std::move(arguments), std::move(fault), Form::blocking));
}

std::unique_ptr<Request> request_of(const std::shared_ptr<Graph>& graph,
                                    CallQueue::Entered entered) {
  if (entered.refused) std::rethrow_exception(entered.refused);
  return std::make_unique<CallRequest>(graph, std::move(entered.call));
}

void finish(const CallQueue::Entered& entered) {
  if (!entered.call) return;
  // Also for a refused call: other ranks may need this rank until its end, and the program may make
  // no progress afterwards.
  entered.call->finish();
  if (entered.refused) std::rethrow_exception(entered.refused);
  if (entered.call->fault()) std::rethrow_exception(entered.call->fault());
}

}  // namespace vicinal
