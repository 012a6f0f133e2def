// Allgathers over a communicator are neighborhood allgathers of its complete graph.
#pragma once

#include <mpi.h>

#include <memory>

#include "collectives/edge_data.hpp"
#include "collectives/graph.hpp"

namespace vicinal {

/// The complete graph of a communicator, kept with it, with the settings of the environment.
/// Collective the first time, and after the default regions were changed; else local.
std::shared_ptr<Graph> graph_of_all(MPI_Comm user);

/// What a rank sends with MPI_IN_PLACE: its own block of what it receives on a complete graph.
EdgeData own_block(const EdgeData& receive, const Graph& graph);

}  // namespace vicinal
