// What can be said of plans without running them: statistics of one, and a proof about all of them.
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

/// What one rank sends and copies in one execution, in elements.
struct Statistics {
  Traffic non_local;          ///< messages sent to other regions
  Traffic local;              ///< messages sent inside the region
  Index shared_elements = 0;  ///< handed to or taken from another rank through a slot
  Index copied_elements = 0;  ///< moved by all other copies and reductions
  std::map<std::string, Traffic> sent_in_phase;  ///< messages sent, by phase label
};
Statistics statistics(const Plan& plan);

/// Proves, for the plans of all ranks (index = rank) and the patterns that they serve: every message
/// sent is received by exactly one receive of the same size; three executions in a row end without
/// deadlock under any order that the graph allows; every in-edge slot is written exactly once and
/// with the item that the pattern says (in reverse: every owned element receives each contribution
/// exactly once, and in the same order in each execution); no part of a shared slot is written again
/// before each of its readers of the execution before has acknowledged; nothing reads or writes
/// outside its buffer, and no two unordered operations of one rank touch the same element of a
/// buffer, one of them writing.
/// Throws an internal fault whose message names the first finding: which rank, which operation, what
/// was expected.
void verify(std::span<const Plan> plans, std::span<const Pattern> patterns);

/// One line per buffer and operation, for people.
void write_text(std::ostream& out, const Plan& plan);
/// One JSON object with all fields.
void write_json(std::ostream& out, const Plan& plan);
/// What becomes of signals and of messages without elements in a GOAL program: empty messages, or nothing, so that ranks
/// of a host do not wait for each other.
enum class GoalSignals : std::uint8_t { as_messages, left_out };

/// The LogGOPSim GOAL program of all ranks: sends, receives and copies (as `calc` of their bytes at
/// one nanosecond each `bytes_per_nanosecond`).
void write_goal(std::ostream& out, std::span<const Plan> plans, Index element_bytes,
                double bytes_per_nanosecond, GoalSignals signals = GoalSignals::as_messages);

}  // namespace vicinal
