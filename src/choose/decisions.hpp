// Decisions of contests, remembered for the life of the process. The next graph with the same
// pattern then needs no measurement. Adaptive meshes return to patterns, solvers set multigrid up
// again, and programs compare their own variants. Each rank remembers by its own part of the
// pattern. A contest uses a decision only if all ranks remember the same. Wisdom (wisdom.hpp)
// outlives the program.
#pragma once

#include <cstdint>
#include <string_view>

#include "execute/planning.hpp"

namespace vicinal {

/// Returns a fingerprint of this rank's part of an exchange, and of all else that affects which
/// plan is the fastest.
std::uint64_t decision_key(const PlanningTask& task);

/// Returns a number for the fastest planner, equal on all ranks; 0 if it is unknown. Thread-safe,
/// as the next functions.
std::int64_t recall_decision(std::uint64_t key);
/// Returns the number of a planner.
std::int64_t number_of(std::string_view planner);
void remember_decision(std::uint64_t key, std::string_view planner) noexcept;
/// Forgets all decisions.
void forget_decisions() noexcept;

}  // namespace vicinal
