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
#include "negotiate/neighborhood.hpp"
#include "negotiate/planner.hpp"
#include "pattern/pattern.hpp"

namespace vicinal {

/// Collective over the ranks of a component. `fault`: the reason why this rank has no plan; `plans`
/// is then ignored. Throws a SettledFault on every rank if a rank reports a fault or the proof
/// fails. A failed proof is an internal fault with the verifier's message.
Task<Done> prove(Conversation& talk, const Neighborhood& neighborhood, const Plans& plans,
                 const Pattern& pattern, std::optional<Error> fault = std::nullopt);

}  // namespace vicinal
