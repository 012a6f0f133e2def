// The topology of a communicator: what MPI reports, and the actual one.
#include <vector>

#include "world.hpp"

namespace vicinal::topologies_tests {

using namespace testing;

TEST(distributed_graphs_of_communicators_with_another_topology) {
  const int rank = world_rank(), size = world_size();
  const int next = around(rank + 1, size), before = around(rank - 1, size);
  const int periodic = 1;
  MPI_Comm cartesian = MPI_COMM_NULL;
  MPI_Cart_create(MPI_COMM_WORLD, 1, &size, &periodic, 0, &cartesian);
  std::vector<int> index, edges;
  for (int i = 0; i < size; ++i) {
    edges.insert(edges.end(), {around(i + 1, size), around(i - 1, size)});
    index.push_back(static_cast<int>(edges.size()));
  }
  MPI_Comm graph = MPI_COMM_NULL;
  MPI_Graph_create(MPI_COMM_WORLD, size, index.data(), edges.data(), 0, &graph);
  for (MPI_Comm* base : {&cartesian, &graph}) {
    // The second error handler would end the program.
    for (MPI_Errhandler handler : {MPI_ERRORS_RETURN, MPI_ERRORS_ARE_FATAL}) {
      const Duplicate with(*base);
      MPI_Comm made = MPI_COMM_NULL;
      MPI_Dist_graph_create_adjacent(with, 1, &before, MPI_UNWEIGHTED, 1, &next, MPI_UNWEIGHTED,
                                     MPI_INFO_NULL, 0, &made);
      MPI_Comm_set_errhandler(made, handler);
      for (const MPI_Comm comm : {made, static_cast<MPI_Comm>(with)}) {
        MPI_Comm_set_errhandler(comm, handler);
        GraphHandle handle;
        SUCCEEDS(vicinal_graph_create_from_topology(comm, MPI_INFO_NULL, &handle));
        int indegree = 0, outdegree = 0;
        std::vector<int> sources(2, -1), destinations(2, -1);
        SUCCEEDS(vicinal_graph_neighbors(handle, &indegree, nullptr, &outdegree, nullptr));
        CHECK_EQUAL(indegree, comm == made ? 1 : 2);
        CHECK_EQUAL(outdegree, indegree);
        SUCCEEDS(vicinal_graph_neighbors(handle, &indegree, sources.data(), &outdegree,
                                         destinations.data()));
        if (comm == made) {
          CHECK_EQUAL(sources[0], before);
          CHECK_EQUAL(destinations[0], next);
        }
        MPI_Errhandler still = MPI_ERRHANDLER_NULL;
        MPI_Comm_get_errhandler(comm, &still);
        CHECK(still == handler);
        MPI_Errhandler_free(&still);
      }
      MPI_Comm_free(&made);
    }
  }
  MPI_Comm_free(&cartesian);
  MPI_Comm_free(&graph);
}

}  // namespace vicinal::topologies_tests
