// Log lines about a plan.
#pragma once

#include <chrono>
#include <cstddef>
#include <iosfwd>

#include "execute/planning.hpp"

namespace vicinal {

/// This rank's cost of agreeing on a plan.
struct AgreementCost {
  int supersteps;        ///< one after the other
  std::size_t messages;  ///< control messages to other ranks
  std::chrono::steady_clock::duration time;
};

/// Writes the numbers of communicator, graph and plan: "plan 2.0.3". For one of several plans to
/// choose from: "plan 2.0.3 (candidate 1)".
void write_plan_name(std::ostream& line, const mpi::ConversationKey& key);

/// Logs a line about a new plan: its planner and the reason, the messages of one execution, and
/// fallbacks. With VICINAL_LOG=debug, logs a second line with the cost of the agreement. Before the
/// first plan without a profile, rank 0 logs that there is none. Writes nothing unless the log
/// level asks for it.
void log_plan(const PlanningTask& task, const Plans& plans, const AgreementCost& cost) noexcept;

}  // namespace vicinal
