// Analysis of plans without running them: statistics of one plan, a proof about the plans of all
// ranks, and exports.
#pragma once

#include <cstdint>
#include <iosfwd>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "pattern/pattern.hpp"
#include "plan/plan.hpp"

namespace vicinal {

struct Traffic {
  std::int64_t messages = 0;
  Index elements = 0;
};

/// Traffic and copies of one rank in one execution, in elements.
struct Statistics {
  Traffic non_local;                             ///< messages sent to other regions
  Traffic local;                                 ///< messages sent inside the region
  Index shared_elements = 0;                     ///< passed to or from another rank through a slot
  Index copied_elements = 0;                     ///< moved by all other copies and reductions
  std::map<std::string, Traffic> sent_in_phase;  ///< messages sent, by phase label
};
Statistics statistics(const Plan& plan);

/// Proves properties of the plans of all ranks (index = rank) and of the patterns that they
/// implement:
/// - every message sent is received by exactly one receive of the same size;
/// - three consecutive executions end without deadlock under any order that the graph allows;
/// - every in-edge slot is written exactly once, with the item that the pattern says;
/// - in reverse, every owned element receives each contribution exactly once, always in the same
///   order;
/// - no part of a shared slot is overwritten before all its readers of the previous execution have
///   acknowledged;
/// - no operation accesses elements outside its buffer;
/// - no two unordered operations of one rank touch the same element of a buffer, one of them
///   writing.
///
/// Throws an internal fault that names the first violation: the rank, the operation, and what was
/// expected.
void verify(std::span<const Plan> plans, std::span<const Pattern> patterns);

/// Writes one line per buffer and operation, for human readers.
void write_text(std::ostream& out, const Plan& plan);
/// Writes one JSON object with all fields.
void write_json(std::ostream& out, const Plan& plan);
/// Representation of signals and empty messages in a GOAL program: as empty messages, or left out.
/// Without them, ranks of a host do not wait for each other.
enum class GoalSignals : std::uint8_t { as_messages, left_out };

/// Writes the LogGOPSim GOAL program of all ranks: sends, receives and copies. A copy is a `calc`
/// that takes one nanosecond for `bytes_per_nanosecond` bytes.
void write_goal(std::ostream& out, std::span<const Plan> plans, Index element_bytes,
                double bytes_per_nanosecond, GoalSignals signals = GoalSignals::as_messages);

}  // namespace vicinal
