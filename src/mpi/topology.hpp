// The neighbors given by a communicator's own topology.
#pragma once

#include <mpi.h>

#include <vector>

namespace vicinal::mpi {

/// One side of a topology.
struct TopologySide {
  /// in the order of the standard, with MPI_PROC_NULL for missing neighbors
  std::vector<int> ranks;
  /// Positions in `ranks` of actual ranks. Their order pairs the k-th edge from p to q on p with
  /// the k-th edge from p to q on q.
  std::vector<int> order;
};

struct Topology {
  TopologySide sources;
  TopologySide destinations;
};

/// The shape of a Cartesian topology.
struct Grid {
  std::vector<int> sizes;
  std::vector<int> periodic;
};
/// Returns the shape of a Cartesian communicator. Local.
[[nodiscard]] Grid grid_of(MPI_Comm user);

/// Returns the neighbors. Local. Throws a topology fault if the communicator has no topology. Also
/// throws for a graph (from MPI_Graph_create) in which p names q more often than q names p.
[[nodiscard]] Topology topology_of(MPI_Comm user);
/// Returns whether the communicator has a topology. Local.
[[nodiscard]] bool has_topology(MPI_Comm user);

}  // namespace vicinal::mpi
