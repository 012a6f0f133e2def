// What a call is to be, by choices that all ranks make alike.
#pragma once

#include <cstdint>

#include "neighbor_call.hpp"
#include "wiring.hpp"

namespace fuzz {

/// Executions of one request whose messages have numbers of their own.
constexpr int rounds = 16;

/// The settings of a graph or plan over so many ranks.
Settings random_settings(Random& random, int size);

/// What the plan's rank at fault does wrong, of four kinds, where it can do that.
void choose_fault(CallPlan& plan, const Wiring& wiring, int kind);

/// The same of calls among all ranks, which may be stored and forwarded.
Settings random_settings_of_all(Random& random, int size);

/// A call on that graph; its messages have numbers from `number` on.
CallPlan random_plan(Trial& trial, const TestedGraph& graph, std::uint64_t number);

}  // namespace fuzz
