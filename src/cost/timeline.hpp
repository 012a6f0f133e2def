// The course of the execution that a price describes: when each operation ran, and what it waited
// for last. It also has each rank's time by phase, and the chain of dependencies that ends last.
//
// Each rank's time runs from 0 until it has completed its last operation. It is either busy, when
// an operation of its own occupies its processor, or waiting. A wait belongs to the operation that
// ends it. This operation begins to occupy the processor, or completes without it (an await, a send
// whose bytes leave). So waiting for a message of a phase counts for that phase, and busy and
// waiting times add up to the rank's total.
#pragma once

#include <array>
#include <span>
#include <vector>

#include "cost/steps.hpp"
#include "plan/program.hpp"

namespace vicinal {

/// All times are in seconds. Operations are numbered over all ranks, rank after rank, each in the
/// order of its plan.
struct Timeline {
  /// Time of the operations of each phase.
  using ByPhase = std::array<double, phase_count>;

  /// A part of the chain: the time between two moments, which belongs to the operation of the later
  /// one.
  struct Link {
    int operation = -1;
    double since = 0;
    double until = 0;
  };

  std::vector<double> ready;  ///< by operation: its predecessors in its own plan are complete
  std::vector<double> begun;  ///< it begins to occupy its processor; if it takes none, as `done`
  std::vector<double> done;   ///< its processor's part is over
  std::vector<double>
      complete;  ///< its successors may begin: as `done`, but for a send its bytes have left
  std::vector<int> cause;        ///< the operation, not itself, that it waited for last, or -1
  std::vector<Link> chain;       ///< from time 0 to the end, without gaps
  std::vector<ByPhase> busy;     ///< by rank
  std::vector<ByPhase> waiting;  ///< by rank, until it is done
};

/// A part of a rank's time.
struct Span {
  double since = 0;
  double until = 0;
  int operation = -1;  ///< occupies the rank's processor, or ends its waiting
  bool busy = false;
};

/// Returns all of a rank's time until it is done, without gaps; omits spans of zero time. The
/// arguments have, by operation of the rank in the order of its plan, when it began, was done and
/// was complete. Sends complete later than they are done.
std::vector<Span> spans(std::span<const double> begun, std::span<const double> done,
                        std::span<const double> complete);

namespace detail {

/// Reads the timeline from the results of an execution in `steps`; `last` is the moment that ended
/// it, or -1.
Timeline timeline_of(const Program& program, const Steps& steps, int last);

}  // namespace detail

}  // namespace vicinal
