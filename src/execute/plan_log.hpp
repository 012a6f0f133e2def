// What the log says of a plan.
#pragma once

#include <chrono>
#include <span>

#include "execute/planning.hpp"

namespace vicinal {

/// Writes a line about a plan that has just been agreed on: what was asked for, what was chosen and why, what
/// this rank sends in one execution, and what fell back. With VICINAL_LOG=debug another one: what agreeing
/// has cost. Before the first one, where no profile is given, rank 0 says so. Writes nothing unless the log wants
/// it.
void log_plan(const PlanningTask& task, const Plans& plans,
              std::span<const Conversation* const> conversations,
              std::chrono::steady_clock::duration time) noexcept;

}  // namespace vicinal
