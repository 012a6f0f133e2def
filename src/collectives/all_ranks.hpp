// Allgathers over a communicator are neighborhood allgathers of its complete graph.
#pragma once

#include <mpi.h>

#include <memory>

#include "collectives/graph.hpp"

namespace vicinal {

/// The complete graph of a communicator, kept with it, whose strategy is the setting
/// vicinal_allgather of the environment. Collective the first time, and after the default regions
/// were changed; else local.
std::shared_ptr<Graph> graph_of_all(MPI_Comm user);

}  // namespace vicinal
