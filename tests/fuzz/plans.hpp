// Parameters of calls, chosen alike by all ranks.
#pragma once

#include <cstdint>

#include "neighbor_call.hpp"
#include "wiring.hpp"

namespace fuzz {

/// Number of executions of one request whose messages have distinct numbers.
constexpr int rounds = 16;

/// Returns the settings of a graph or plan over `size` ranks.
Settings random_settings(Random& random, int size);

/// Chooses the error of the plan's failing rank, of four kinds, if that rank can make it.
void choose_fault(CallPlan& plan, const Wiring& wiring, int kind);

/// As random_settings(), for calls among all ranks, which may be stored and forwarded.
Settings random_settings_of_all(Random& random, int size);

/// Returns a call on the graph; the numbers of its messages begin with `number`.
CallPlan random_plan(Trial& trial, const TestedGraph& graph, std::uint64_t number);

/// Avoids errors of MPIs themselves. MPICH and Open MPI return at once from a call with a count of
/// 0, but not from one with an empty datatype. So ranks with the latter wait for ranks with the
/// former. Open MPI chooses an allgather's algorithm by the size of the rank's own datatype; MPICH
/// segments blocks by its extent. Open MPI delivers wrong blocks in nonblocking in-place alltoallv
/// calls.
void avoid_faults_of_mpi(CallPlan& plan, const TestedGraph& graph);

}  // namespace fuzz
