// Proves plans while the ranks run. The ranks of a component send their plans and patterns to the
// root of the component's tree. The root verifies them as a whole and sends the result to all
// ranks.
//
// Each rank exchanges two control messages; the one towards the root holds the plans and patterns
// of all ranks below. The root needs the memory for all of them and the time of verify(). The time
// grows with the operations and elements of all ranks (three executions are unrolled).
#pragma once

#include <optional>

#include "base/conversation.hpp"
#include "base/records.hpp"
#include "negotiate/neighborhood.hpp"
#include "negotiate/planner.hpp"
#include "pattern/pattern.hpp"
#include "plan/plan.hpp"

namespace vicinal {

void fields(auto&& take, Is<CopyRun> auto& it) { take(it.source, it.target, it.count); }
void fields(auto&& take, Is<ItemRun> auto& it) { take(it.identity, it.position, it.count); }
void fields(auto&& take, Is<OutEdge> auto& it) { take(it.rank, it.items, it.partitions); }
void fields(auto&& take, Is<InEdge> auto& it) { take(it.rank, it.count, it.slots, it.partitions); }
void fields(auto&& take, Is<Pattern> auto& it) { take(it.out, it.in, it.identity); }
void fields(auto&& take, Is<Buffer> auto& it) {
  take(it.space, it.extent, it.slot, it.owner, it.peer_index, it.peers);
}
void fields(auto&& take, Is<Operation> auto& it) {
  take(it.kind, it.phase, it.local, it.from, it.to, it.runs, it.offset, it.count, it.peer, it.tag,
       it.flag, it.lag, it.event, it.after);
}
void fields(auto&& take, Is<Plan> auto& it) {
  take(it.rank, it.size, it.planner, it.reverse, it.buffers, it.operations);
}

/// Collective over the ranks of a component. `fault`: the reason why this rank has no plan; `plans`
/// is then ignored. Throws an error on all ranks if a rank reports a fault or the proof
/// fails. A failed proof is an internal fault with the verifier's message.
Task<Done> prove(Conversation& talk, const Neighborhood& neighborhood, const Plans& plans,
                 const Pattern& pattern, std::optional<Error> fault = std::nullopt);

}  // namespace vicinal
