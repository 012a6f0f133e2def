// The parts of the verifier. Each proves one thing and relies on those before it: that the plans
// are one program (program.hpp), that it ends, that its accesses are ordered, and only then, since
// no order is left open, that one run of it moves the right values.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "pattern/pattern.hpp"
#include "plan/program.hpp"

namespace vicinal::detail {

/// Runs three executions with counters. Every message and flag has one writer, so that one order of
/// running stands for all. Throws where operations are left over, naming a chain of what waits for
/// what; otherwise returns the operations in an order in which one execution completes them.
std::vector<int> run_to_the_end(const Program& program);

/// Throws where two operations touch an element, one of them writing it, and nothing orders them:
/// within one execution, or, in a slot, from one execution to the next.
void verify_sharing(const Program& program, std::span<const int> order);

/// Throws unless each partition of the patterns has its trigger (its notification), which everything that
/// reads the partition's items comes after (which comes after everything that writes its slots).
void verify_partitions(const Program& program, std::span<const Pattern> patterns);

/// What the patterns of all ranks ask for. The owned side has the items, the ghost side the slots
/// that hold copies of them. Both are numbered over all ranks.
struct Demand {
  Demand(const Program& program, std::span<const Pattern> patterns);

  std::vector<Index> first_owned;  ///< by rank, and the end
  std::vector<Index> first_ghost;  ///< by rank, and the end
  std::vector<Index> item;         ///< by owned element: the first element that holds the same item
  std::vector<Index> wanted;       ///< by ghost slot: the item that belongs there, or -1

  [[nodiscard]] std::string describe_owned(Index element) const;
  [[nodiscard]] std::string describe_ghost(Index slot) const;
};

/// Throws unless an execution in this order fills every slot with its item, once.
void verify_forward(const Program& program, const Demand& demand, std::span<const int> order);

/// Throws unless an execution in this order adds every ghost element to its owned element, once.
void verify_reverse(const Program& program, const Demand& demand, std::span<const int> order);

}  // namespace vicinal::detail
