// A process remembers the verdicts of its contests, and the next graph of the same pattern need not measure again. Adaptive meshes
// return to patterns, solvers set multigrid up again, and programs try out their own ways. Each rank remembers by its own part of
// the pattern. A contest acts on it only where all ranks remember the same. Wisdom (wisdom.hpp) outlives the program, this does not.
#pragma once

#include <cstdint>
#include <string_view>

#include "execute/planning.hpp"

namespace vicinal {

/// Of a rank's part of an exchange, and of all that plays a part in which plan is the quickest.
std::uint64_t verdict_key(const PlanningTask& task);

/// A number for the planner that was the quickest, the same on all ranks; 0 where that is not known. From any thread, as the next two.
std::int64_t recall_verdict(std::uint64_t key);
/// The number of a planner.
std::int64_t number_of(std::string_view planner);
void remember_verdict(std::uint64_t key, std::string_view planner) noexcept;
/// From now on nothing is known.
void forget_verdicts() noexcept;

}  // namespace vicinal
