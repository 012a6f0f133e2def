// Proving plans while the ranks run: the ranks of a component bring their plans and patterns together at
// the root of its tree, which verifies them as a whole and tells everybody what it has found.
//
// It costs each rank two letters, of which the one towards the root holds the plans and patterns of all
// ranks below it; and the root the memory for all of them and the time of verify(), which grows with the
// operations and elements of all ranks (three executions are unrolled).
#pragma once

#include <optional>

#include "base/conversation.hpp"
#include "pattern/pattern.hpp"
#include "planners/neighborhood.hpp"
#include "planners/planner.hpp"

namespace vicinal {

/// Collective over the ranks of a component. `fault`: why this rank has no plan; `plans` do not count then.
/// Throws a SettledFault on every rank where one brings a fault, or the proof fails: an internal fault
/// then, with the verifier's words.
Task<Done> prove(Conversation& talk, const Neighborhood& neighborhood, const Plans& plans,
                 const Pattern& pattern, std::optional<Error> fault = std::nullopt);

}  // namespace vicinal
