// Field lists of plans and patterns, for control messages. The verifier needs them to gather the
// plans of running ranks.
#pragma once

#include "base/records.hpp"
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

}  // namespace vicinal
