// Allgathers over a communicator are neighborhood allgathers of its complete graph.
#pragma once

#include <mpi.h>

#include <memory>

#include "collectives/edge_data.hpp"
#include "collectives/graph.hpp"

namespace vicinal {

/// Returns the complete graph of a communicator, with the settings of the environment. The
/// communicator keeps it. Collective the first time, and after the default regions have changed;
/// otherwise local.
std::shared_ptr<Graph> graph_of_all(MPI_Comm user);

/// Returns the data that a rank sends with MPI_IN_PLACE on a complete graph: its own block of
/// `receive`.
EdgeData own_block(const EdgeData& receive, const Graph& graph);

}  // namespace vicinal
