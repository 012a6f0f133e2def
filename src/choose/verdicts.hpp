// What contests of this process have found, so that the next graph of the same pattern need not measure again: adaptive meshes
// that return, multigrid that is set up again, a program that tries out its own ways. Each rank remembers by what it has to do
// itself, and forgets when the program ends; what outlives that is wisdom (wisdom.hpp). Ranks that remember different things, or
// nothing, find out before they act on it.
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
void remember_verdict(std::uint64_t key, std::string_view planner);
/// From now on nothing is known.
void forget_verdicts() noexcept;

}  // namespace vicinal
