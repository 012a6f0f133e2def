// What a call is to be, by choices that all ranks make alike.
#pragma once

#include <cstdint>

#include "neighbor_call.hpp"
#include "wiring.hpp"

namespace fuzz {

/// Executions of one request whose messages have numbers of their own.
constexpr int rounds = 16;

/// The settings of a graph or plan over so many ranks.
Settings random_settings(Random& random, int size);

/// What the plan's rank at fault does wrong, of four kinds, where it can do that.
void choose_fault(CallPlan& plan, const Wiring& wiring, int kind);

/// The same of calls among all ranks, which may be stored and forwarded.
Settings random_settings_of_all(Random& random, int size);

/// A call on that graph; its messages have numbers from `number` on.
CallPlan random_plan(Trial& trial, const TestedGraph& graph, std::uint64_t number);

/// Leaves out what MPIs do wrong by themselves. MPICH and Open MPI return at once from a call whose count is
/// 0, but not from one whose datatype is empty, so that ranks with one wait for ranks with the other. Open
/// MPI chooses the algorithm of an allgather by the size of the rank's own datatype; MPICH cuts the blocks of
/// one into segments by the extent of the rank's own datatype. Open MPI delivers wrong blocks in nonblocking
/// alltoallv calls in place.
void avoid_faults_of_mpi(CallPlan& plan, const TestedGraph& graph);

}  // namespace fuzz
