// Writes a plan for human readers: one self-contained line per buffer and operation.
#include <ostream>

#include "plan/checks.hpp"

namespace vicinal {

namespace {

constexpr std::size_t runs_shown = 4;

void write_flag(std::ostream& out, int flag) {
  if (flag < 0) {
    out << "the owner's flag";
  } else {
    out << "the flag of peer " << flag;
  }
}

void write_buffer(std::ostream& out, const Plan& plan, std::size_t index) {
  const Buffer& it = plan.buffers[index];
  out << "  buffer " << index << ": " << name(it.space) << ", " << it.extent << " elements";
  if (it.space == Space::shared) {
    out << ", slot " << it.slot << " of rank " << it.owner;
    if (it.peer_index < 0) {
      out << " (this rank), " << it.peers << " peers";
    } else {
      out << ", as peer " << it.peer_index;
    }
  }
  out << '\n';
}

void write_runs(std::ostream& out, const Operation& it) {
  out << total(it.runs) << " elements from buffer " << it.from << " to buffer " << it.to << ':';
  for (std::size_t i = 0; i < it.runs.size() && i < runs_shown; ++i) {
    const CopyRun& run = it.runs[i];
    out << (i > 0 ? ", " : " ") << run.source << "->" << run.target << " x" << run.count;
  }
  if (it.runs.size() > runs_shown) out << ", and " << it.runs.size() - runs_shown << " more runs";
}

void write_operation(std::ostream& out, const Plan& plan, std::size_t index) {
  const Operation& it = plan.operations[index];
  out << "  " << index << ": " << name(it.kind) << " [" << name(it.phase) << "] ";
  switch (it.kind) {
    case OperationKind::copy:
    case OperationKind::reduce: write_runs(out, it); break;
    case OperationKind::send:
      out << it.count << " elements at " << it.offset << " of buffer " << it.from << " to "
          << (it.local ? "local" : "non-local") << " rank " << it.peer << ", tag " << it.tag;
      break;
    case OperationKind::receive:
      out << it.count << " elements at " << it.offset << " of buffer " << it.to << " from "
          << (it.local ? "local" : "non-local") << " rank " << it.peer << ", tag " << it.tag;
      break;
    case OperationKind::signal:
      write_flag(out, it.flag);
      out << " of buffer " << it.from;
      break;
    case OperationKind::await:
      write_flag(out, it.flag);
      out << " of buffer " << it.from;
      if (it.lag > 0) out << ", " << it.lag << " execution" << (it.lag > 1 ? "s" : "") << " back";
      break;
    case OperationKind::trigger:
      out << "event " << it.event << ", a partition for rank " << it.peer;
      break;
    case OperationKind::notify:
      out << "event " << it.event << ", a partition from rank " << it.peer;
      break;
  }
  for (std::size_t i = 0; i < it.after.size(); ++i) {
    out << (i > 0 ? ", " : "; after ") << it.after[i];
  }
  out << '\n';
}

}  // namespace

void write_text(std::ostream& out, const Plan& plan) {
  out << "rank " << plan.rank << " of " << plan.size << ", " << plan.planner
      << (plan.reverse ? ", reverse" : "") << '\n';
  for (std::size_t i = 0; i < plan.buffers.size(); ++i) write_buffer(out, plan, i);
  for (std::size_t i = 0; i < plan.operations.size(); ++i) write_operation(out, plan, i);
}

}  // namespace vicinal
