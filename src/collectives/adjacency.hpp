// Converts edges that any rank may name (as in MPI_Dist_graph_create) into each rank's own edges.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "base/error.hpp"
#include "collectives/settings.hpp"
#include "mpi/communicator.hpp"

namespace vicinal {

struct NamedEdge {
  int from = 0;
  int to = 0;
  int weight = 1;
};

/// Edges of a rank, by ascending peer. Both ranks of a pair list the edges between them in the same
/// order.
struct Adjacency {
  std::vector<int> sources;
  std::vector<int> source_weights;
  std::vector<int> destinations;
  std::vector<int> destination_weights;
};

/// Returns this rank's edges among those that all ranks name. Collective: a sparse exchange, in
/// which each rank sends few messages, whatever the number of ranks. Ranks also agree on the
/// settings. `fault`: an error that the caller has already detected. Throws on every rank if a rank
/// passes a fault or names a rank that does not exist, or if settings differ.
[[nodiscard]] Adjacency adjacency_of(mpi::Communicator& communicator,
                                     std::span<const NamedEdge> edges, const Settings& settings,
                                     std::optional<Error> fault = std::nullopt);

}  // namespace vicinal
