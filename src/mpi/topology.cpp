// Cartesian, graph and distributed-graph topologies as lists of neighbors.
//
// In a periodic dimension of size 1 or 2 both neighbors are the same rank. A message sent in the
// negative direction arrives from the positive one. So the in-edges of a dimension pair with the
// out-edges in the order +, -.
#include "mpi/topology.hpp"

#include <algorithm>
#include <map>
#include <numeric>
#include <utility>

#include "mpi/errors.hpp"

namespace vicinal::mpi {
namespace {

TopologySide in_order(std::vector<int> ranks) {
  TopologySide side;
  side.order.resize(ranks.size());
  std::iota(side.order.begin(), side.order.end(), 0);
  side.ranks = std::move(ranks);
  return side;
}

Topology cartesian(MPI_Comm user) {
  int dimensions = 0;
  check(MPI_Cartdim_get(user, &dimensions), "MPI_Cartdim_get");
  Topology topology;
  for (int dimension = 0; dimension < dimensions; ++dimension) {
    int below = MPI_PROC_NULL;
    int above = MPI_PROC_NULL;
    check(MPI_Cart_shift(user, dimension, 1, &below, &above), "MPI_Cart_shift");
    const std::pair<int, int> minus{2 * dimension, below};
    const std::pair<int, int> plus{2 * dimension + 1, above};
    for (TopologySide* side : {&topology.sources, &topology.destinations}) {
      side->ranks.insert(side->ranks.end(), {below, above});
      const bool sends = side == &topology.destinations;
      for (const auto& [entry, rank] : {sends ? minus : plus, sends ? plus : minus}) {
        if (rank != MPI_PROC_NULL) side->order.push_back(entry);
      }
    }
  }
  return topology;
}

std::vector<int> graph_neighbors(MPI_Comm user, int rank) {
  int count = 0;
  check(MPI_Graph_neighbors_count(user, rank, &count), "MPI_Graph_neighbors_count");
  std::vector<int> ranks(static_cast<std::size_t>(count));
  check(MPI_Graph_neighbors(user, rank, count, ranks.data()), "MPI_Graph_neighbors");
  return ranks;
}

/// MPI requires symmetry but need not check it. Every rank knows the whole graph, so each checks
/// all of it, and all get the same result.
Topology graph(MPI_Comm user) {
  int rank = 0;
  int size = 0;
  check(MPI_Comm_rank(user, &rank), "MPI_Comm_rank");
  check(MPI_Comm_size(user, &size), "MPI_Comm_size");
  using Edge = std::pair<int, int>;
  std::map<Edge, int> edges;
  for (int from = 0; from < size; ++from) {
    for (const int to : graph_neighbors(user, from)) ++edges[{from, to}];
  }
  for (const auto& [edge, there] : edges) {
    const auto [from, to] = edge;
    const auto reverse = edges.find({to, from});
    const int back = reverse == edges.end() ? 0 : reverse->second;
    require(there == back, Fault::topology, "in the communicator's graph rank ", from,
            " names rank ", to, " ", there, " times, and rank ", to, " names rank ", from, " ",
            back, " times; both must name each other as often, or use a distributed graph");
  }
  const std::vector<int> mine = graph_neighbors(user, rank);
  return {in_order(mine), in_order(mine)};
}

/// Returns whether it is a distributed graph, whatever MPI_Topo_test says. Open MPI 5 reports
/// Cartesian for a distributed graph made from a Cartesian communicator, and crashes when asked for
/// its dimensions. The query may fail, so the user's error handler, which may end the program, is
/// replaced meanwhile.
bool is_distributed_graph(MPI_Comm user) {
  MPI_Errhandler handler = MPI_ERRHANDLER_NULL;
  check(MPI_Comm_get_errhandler(user, &handler), "MPI_Comm_get_errhandler");
  check(MPI_Comm_set_errhandler(user, errors_return()), "MPI_Comm_set_errhandler");
  int sources = 0;
  int destinations = 0;
  int weighted = 0;
  const int code = MPI_Dist_graph_neighbors_count(user, &sources, &destinations, &weighted);
  const int restored = MPI_Comm_set_errhandler(user, handler);
  MPI_Errhandler_free(&handler);
  check(restored, "MPI_Comm_set_errhandler");
  return code == MPI_SUCCESS;
}

Topology distributed_graph(MPI_Comm user) {
  int sources = 0;
  int destinations = 0;
  int weighted = 0;
  check(MPI_Dist_graph_neighbors_count(user, &sources, &destinations, &weighted),
        "MPI_Dist_graph_neighbors_count");
  std::vector<int> from(static_cast<std::size_t>(sources));
  std::vector<int> to(static_cast<std::size_t>(destinations));
  // Weights must be read if there are any; they are not used.
  std::vector<int> from_weights(from.size());
  std::vector<int> to_weights(to.size());
  check(MPI_Dist_graph_neighbors(user, sources, from.data(),
                                 weighted != 0 ? from_weights.data() : MPI_UNWEIGHTED, destinations,
                                 to.data(), weighted != 0 ? to_weights.data() : MPI_UNWEIGHTED),
        "MPI_Dist_graph_neighbors");
  return {in_order(std::move(from)), in_order(std::move(to))};
}

}  // namespace

Grid grid_of(MPI_Comm user) {
  int dimensions = 0;
  check(MPI_Cartdim_get(user, &dimensions), "MPI_Cartdim_get");
  const auto size = static_cast<std::size_t>(dimensions);
  Grid grid{std::vector<int>(size), std::vector<int>(size)};
  std::vector<int> here(size);
  check(MPI_Cart_get(user, dimensions, grid.sizes.data(), grid.periodic.data(), here.data()),
        "MPI_Cart_get");
  return grid;
}

bool has_topology(MPI_Comm user) {
  int kind = MPI_UNDEFINED;
  check(MPI_Topo_test(user, &kind), "MPI_Topo_test");
  return kind != MPI_UNDEFINED;
}

Topology topology_of(MPI_Comm user) {
  require(user != MPI_COMM_NULL, Fault::communicator, "the communicator is MPI_COMM_NULL");
  int kind = MPI_UNDEFINED;
  check(MPI_Topo_test(user, &kind), "MPI_Topo_test");
  if (kind != MPI_UNDEFINED && is_distributed_graph(user)) return distributed_graph(user);
  if (kind == MPI_CART) return cartesian(user);
  if (kind == MPI_GRAPH) return graph(user);
  fail(Fault::topology,
       "the communicator has no topology; give one that MPI_Cart_create, MPI_Graph_create or "
       "MPI_Dist_graph_create_adjacent has made, or name the neighbours yourself");
}

}  // namespace vicinal::mpi
