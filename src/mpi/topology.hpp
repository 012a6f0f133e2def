// The neighbours that a communicator's own topology names.
#pragma once

#include <mpi.h>

#include <vector>

namespace vicinal::mpi {

/// One side of a topology.
struct TopologySide {
  std::vector<int> ranks;  ///< in the order of the standard; MPI_PROC_NULL where there is none
  /// Positions in `ranks` of those that are ranks, in an order in which the k-th from p to q at p
  /// is the k-th from p to q at q.
  std::vector<int> order;
};

struct Topology {
  TopologySide sources;
  TopologySide destinations;
};

/// The shape of a Cartesian one.
struct Grid {
  std::vector<int> sizes;
  std::vector<int> periodic;
};
/// Local. Of one that is Cartesian.
[[nodiscard]] Grid grid_of(MPI_Comm user);

/// Local. Throws a topology fault where the communicator has no topology, or is a graph (as
/// MPI_Graph_create makes them) in which p names q more often than q names p.
[[nodiscard]] Topology topology_of(MPI_Comm user);
/// Whether it has one. Local.
[[nodiscard]] bool has_topology(MPI_Comm user);

}  // namespace vicinal::mpi
