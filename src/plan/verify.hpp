// The parts of the verifier. Each proves one property and relies on the previous ones:
// 1  the plans form one program (program.hpp);
// 2  the program ends;
// 3  its accesses are ordered;
// 4  it moves the right values. One run suffices, since step 3 leaves no order open.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "pattern/pattern.hpp"
#include "plan/program.hpp"

namespace vicinal::detail {

/// Runs three executions with counters. Every message and flag has one writer, so one order of
/// running represents all. Throws if operations remain, naming a chain of waiting operations.
/// Returns the operations in an order in which one execution completes them.
std::vector<int> run_to_the_end(const Program& program);

/// Throws if two operations touch an element, one of them writing it, without an order between
/// them. Checks single executions and, in slots, consecutive executions.
void verify_sharing(const Program& program, std::span<const int> order);

/// Throws unless each partition has its trigger (notification). All operations that read the
/// partition's items must come after its trigger. Its notification must come after all operations
/// that write its slots.
void verify_partitions(const Program& program, std::span<const Pattern> patterns);

/// The requirements of all patterns. The owned side has the items; the ghost side has the slots
/// that hold copies of them. Both are numbered over all ranks.
struct Demand {
  Demand(const Program& program, std::span<const Pattern> patterns);

  std::vector<Index> first_owned;  ///< by rank, then the total
  std::vector<Index> first_ghost;  ///< by rank, then the total
  std::vector<Index> item;         ///< by owned element: the first element that holds the same item
  std::vector<Index> wanted;       ///< by ghost slot: the item that belongs there, or -1

  [[nodiscard]] std::string describe_owned(Index element) const;
  [[nodiscard]] std::string describe_ghost(Index slot) const;
};

/// Throws unless an execution in this order fills every slot exactly once, with its item.
void verify_forward(const Program& program, const Demand& demand, std::span<const int> order);

/// Throws unless an execution in this order adds every ghost element to its owned element exactly
/// once.
void verify_reverse(const Program& program, const Demand& demand, std::span<const int> order);

}  // namespace vicinal::detail
