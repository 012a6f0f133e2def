// What happened in the execution that a price is of: when each operation had its turn and what it waited for last,
// where each rank's time went by phase, and the chain of what waited for what that ends last.
//
// For a rank, from 0 until it has completed its last operation, time is either busy, when an operation of its
// own occupies its processor, or waiting. What is waited for is told by what ends the waiting: an operation that begins
// to occupy the processor, or one that is complete without it (an await, a send whose bytes leave). So
// waiting for a message of a phase counts for that phase, and both together add up to when the rank is done.
#pragma once

#include <array>
#include <span>
#include <vector>

#include "cost/steps.hpp"
#include "plan/program.hpp"

namespace vicinal {

/// All times are in seconds. Operations are numbered over all ranks, rank after rank, each in the order of its plan.
struct Timeline {
  /// What operations of each phase take.
  using ByPhase = std::array<double, phase_count>;

  /// A part of the chain: the time between two moments, which belongs to the operation of the later one.
  struct Link {
    int operation = -1;
    double since = 0;
    double until = 0;
  };

  std::vector<double> ready;  ///< by operation: what comes before it in its own plan is complete
  std::vector<double> begun;  ///< it begins to occupy its processor; if it takes none, as `done`
  std::vector<double> done;   ///< its processor's part is over
  std::vector<double>
      complete;  ///< what comes after it may begin: as `done`, but for a send its bytes have left
  std::vector<int> cause;        ///< the operation, not itself, that it waited for last, or -1
  std::vector<Link> chain;       ///< from time 0 to the end, without gaps
  std::vector<ByPhase> busy;     ///< by rank
  std::vector<ByPhase> waiting;  ///< by rank, until it is done
};

/// A part of a rank's time.
struct Span {
  double since = 0;
  double until = 0;
  int operation = -1;  ///< what occupies the rank's processor, or ends its waiting
  bool busy = false;
};

/// All of a rank's time until it is done, without gaps; what takes no time is left out. By operation of the rank, in the
/// order of its plan: when it began, was done and was complete. What is late to be complete are sends.
std::vector<Span> spans(std::span<const double> begun, std::span<const double> done,
                        std::span<const double> complete);

namespace detail {

/// Reads the timeline from what an execution has left in `steps`; `last` is the moment with which it ended, or -1.
Timeline timeline_of(const Program& program, const Steps& steps, int last);

}  // namespace detail

}  // namespace vicinal
