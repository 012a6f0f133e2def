// Which queue a call enters.
#include "collectives/neighbor_call.hpp"

#include "collectives/call.hpp"
#include "collectives/call_queue.hpp"

namespace vicinal {

std::unique_ptr<Request> begin_neighbor_call(const std::shared_ptr<Graph>& graph,
                                             NeighborArguments arguments,
                                             std::optional<Error> fault, Form form) {
  if (!graph->neighborhood().takes_part()) {
    if (fault) throw Error(*fault);
    return std::make_unique<CallRequest>(graph, nullptr);
  }
  const bool gathers = arguments.send.one_block, equal = arguments.equal_blocks;
  const CallKind kind = gathers ? (equal ? CallKind::allgather : CallKind::allgatherv)
                                : (equal ? CallKind::alltoall : CallKind::alltoallv);
  return request_of(graph,
                    graph->calls(kind).enter(*graph, std::move(arguments), std::move(fault),
                                             form == Form::blocking),
                    form);
}

std::unique_ptr<Request> request_of(const std::shared_ptr<Graph>& graph, CallQueue::Entered entered,
                                    Form form) {
  const auto [call, refused] = std::move(entered);
  if (!refused) return std::make_unique<CallRequest>(graph, call);
  // The others may need this rank to the end of the call; the program may go on to where it is not heard.
  if (form == Form::blocking) call->finish();
  std::rethrow_exception(refused);
}

}  // namespace vicinal
