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

/// A call on that graph; its messages have numbers from `number` on.
CallPlan random_plan(Trial& trial, const TestedGraph& graph, std::uint64_t number);

}  // namespace fuzz
