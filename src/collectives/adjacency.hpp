// Edges that anybody may name (MPI_Dist_graph_create), as each rank's own.
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

/// A rank's edges: in ascending order of the other rank, those of two ranks in the same order at both.
struct Adjacency {
  std::vector<int> sources;
  std::vector<int> source_weights;
  std::vector<int> destinations;
  std::vector<int> destination_weights;
};

/// What all ranks name, by a sparse exchange: a few messages of each rank, whatever their number. Collective; the ranks
/// make sure that they agree on the settings. `fault`: what the caller already knows to be wrong. Throws on every rank where
/// one brings a fault, or names an end that there is not, or where settings differ.
[[nodiscard]] Adjacency adjacency_of(mpi::Communicator& communicator,
                                     std::span<const NamedEdge> edges, const Settings& settings,
                                     std::optional<Error> fault = std::nullopt);

}  // namespace vicinal
