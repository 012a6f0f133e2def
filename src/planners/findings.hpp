// How planners word what they find wrong between ranks, the same whichever planner finds it.
#pragma once

#include "base/error.hpp"
#include "base/runs.hpp"

namespace vicinal {

/// The two ends of an edge gave different counts.
inline Error counts_differ(int from, int to, Index sent, Index expected, const char* unit) {
  std::ostringstream text;
  text << "the counts of the edge from rank " << from << " to rank " << to << " differ: rank "
       << from << " sends " << sent << " " << unit << ", but rank " << to << " expects " << expected
       << "; both ends of an edge must give the same count";
  return {Fault::count, text.str()};
}

/// Planning ends here because of what another rank found.
inline Error planning_failed(Fault fault, int rank) {
  std::ostringstream text;
  text << "planning failed because of a " << name(fault) << " fault on rank " << rank
       << "; the message on that rank says more";
  return {Fault::elsewhere, text.str()};
}

}  // namespace vicinal
