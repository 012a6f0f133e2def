// The families of cases. Each runs one case on all ranks, collectively over the world.
#pragma once

#include "trial.hpp"

namespace fuzz {

/// Neighborhood collectives: several graphs, calls in all forms, many in flight.
void run_neighborhood(Trial& trial);
/// Allgathers over a communicator, and over its complete graph, by all planners.
void run_allgather(Trial& trial);
/// Sparse exchanges by all methods, questions and answers.
void run_sparse(Trial& trial);
/// Halos and their reverse.
void run_halo(Trial& trial);

}  // namespace fuzz
