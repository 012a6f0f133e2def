// Example of a line, about the first plan of graph 3 on communicator 0 (all ranks use the same
// numbers): "plan 0.3.1 by automatic: goes by leaders to 2 of 5 other regions, where that takes
// less time by the cost model; sends 4 messages of 96 bytes to other regions and 1 of 8 inside its
// own, passes 64 through shared memory".
#include "execute/plan_log.hpp"

#include <atomic>
#include <ostream>

#include "base/log.hpp"
#include "plan/checks.hpp"

namespace vicinal {

namespace {

void write_traffic(std::ostream& line, const Traffic& traffic, const char* unit,
                   const char* where) {
  if (traffic.messages == 0) {
    line << "none " << where;
    return;
  }
  line << traffic.messages << (traffic.messages == 1 ? " message" : " messages") << " of "
       << traffic.elements << ' ' << unit << ' ' << where;
}

void write_statistics(std::ostream& line, const Plan& plan, const char* unit) {
  const Statistics counted = statistics(plan);
  line << "sends ";
  write_traffic(line, counted.non_local, unit, "to other regions");
  line << " and ";
  write_traffic(line, counted.local, unit, "inside its own");
  line << ", passes " << counted.shared_elements << ' ' << unit << " through shared memory";
}

}  // namespace

namespace {

/// Logs once, on one rank, which machine's profile is in use, and how to measure this machine.
void offer_calibration(const PlanningTask& task) noexcept {
  static std::atomic_flag offered;
  if (task.communicator->rank() != 0 || task.options.profile != default_profile()) return;
  if (!logs(LogLevel::info) || offered.test_and_set()) return;
  log_line(LogLevel::info, [&](std::ostream& line) {
    line << "no vicinal_profile is given, so choices are made for " << default_profile().name
         << "; 'vicinal calibrate FILE' measures this machine, and VICINAL_PROFILE=FILE has its "
            "numbers used";
  });
}

}  // namespace

void write_plan_name(std::ostream& line, const mpi::ConversationKey& key) {
  line << "plan " << key.graph / mpi::graphs_per_communicator << '.'
       << key.graph % mpi::graphs_per_communicator << '.' << key.sequence % mpi::plans_per_graph;
  const std::int64_t candidate = key.sequence / mpi::plans_per_graph;
  if (candidate > 0) line << " (candidate " << candidate << ')';
}

void log_plan(const PlanningTask& task, const Plans& plans, const AgreementCost& cost) noexcept {
  offer_calibration(task);
  log_line(LogLevel::info, [&](std::ostream& line) {
    const PlanOptions& options = task.options;
    write_plan_name(line, task.key);
    line << " by " << plans.forward.planner;
    if (!options.asked_for.empty()) {
      line << " in place of " << options.asked_for << ", since " << options.not_taken_since;
    } else if (plans.forward.planner != task.planner->name) {
      line << ", chosen by " << task.planner->name;
    }
    line << ": ";
    if (!plans.reason.empty()) line << plans.reason << "; ";
    write_statistics(line, plans.forward, options.unit);
    if (plans.reverse) {
      line << "; in reverse ";
      write_statistics(line, *plans.reverse, options.unit);
    }
    if (!options.shared_memory) {
      line << "; vicinal_local is 'messages'";
    } else if (!task.communicator->arena_fault().empty()) {
      line << "; shared memory: " << task.communicator->arena_fault();
    }
  });
  log_line(LogLevel::debug, [&](std::ostream& line) {
    write_plan_name(line, task.key);
    line << " took " << std::chrono::duration<double, std::milli>(cost.time).count() << " ms, "
         << cost.supersteps << " supersteps, and " << cost.messages
         << " control messages of this rank";
  });
}

}  // namespace vicinal
