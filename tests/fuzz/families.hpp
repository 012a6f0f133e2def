// The families of cases. Each runs one case on all ranks, collectively over the world.
#pragma once

#include "trial.hpp"

namespace fuzz {

/// Neighborhood collectives: several graphs, calls in all forms, many in flight.
void run_neighborhood(Trial& trial);
/// Collectives over a communicator, and over its complete graph, by all planners for them.
void run_over_all(Trial& trial);
/// Sparse exchanges by all methods, questions and answers.
void run_sparse(Trial& trial);
/// Calls of a graph in loops, which get plans, with sizes that change.
void run_loops(Trial& trial);
/// The same by MPI's own names: to be run with the preload library before the program.
void run_unmodified(Trial& trial);
/// Random programs of MPI's own functions, in several threads: likewise.
void run_programs(Trial& trial);
/// Halos and their reverse.
void run_halo(Trial& trial);

}  // namespace fuzz
