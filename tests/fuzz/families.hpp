// Families of cases. Each function runs one case on all ranks; collective over the world.
#pragma once

#include "trial.hpp"

namespace fuzz {

/// Neighborhood collectives: several graphs, all forms of calls, many in flight.
void run_neighborhood(Trial& trial);
/// Collectives over a communicator and over its complete graph, by all planners for them.
void run_over_all(Trial& trial);
/// Sparse exchanges by all methods, with and without answers.
void run_sparse(Trial& trial);
/// Calls on a graph in loops, which get plans, with changing sizes.
void run_loops(Trial& trial);
/// As run_loops(), under MPI's own names; requires the preload library.
void run_unmodified(Trial& trial);
/// Random programs of MPI's own functions in several threads; requires the preload library.
void run_programs(Trial& trial);
/// Halos, forward and in reverse.
void run_halo(Trial& trial);

}  // namespace fuzz
