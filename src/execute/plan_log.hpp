// What the log says of a plan.
#pragma once

#include <chrono>
#include <cstddef>
#include <iosfwd>

#include "execute/planning.hpp"

namespace vicinal {

/// The cost of an agreement on a plan for this rank.
struct AgreementCost {
  int supersteps;        ///< one after the other
  std::size_t messages;  ///< control messages to other ranks
  std::chrono::steady_clock::duration time;
};

/// "plan 2.0.3": of the communicator's number 2 its graph 0's plan 3; of several that were made to choose one
/// of, "plan 2.0.3 (candidate 1)".
void write_plan_name(std::ostream& line, const mpi::ConversationKey& key);

/// Writes a line about a plan that has just been agreed on: what was asked for, what was chosen and why, what
/// this rank sends in one execution, and what fell back. With VICINAL_LOG=debug another one: what agreeing
/// has cost. Before the first one, where no profile is given, rank 0 says so. Writes nothing unless the log wants
/// it.
void log_plan(const PlanningTask& task, const Plans& plans, const AgreementCost& cost) noexcept;

}  // namespace vicinal
