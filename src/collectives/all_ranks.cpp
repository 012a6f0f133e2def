// The complete graph of a communicator.
#include "collectives/all_ranks.hpp"

namespace vicinal {

std::shared_ptr<Graph> graph_of_all(MPI_Comm user) {
  const auto communicator = mpi::Communicator::of(user);
  auto& kept = communicator->kept_until_freed("graph of all");
  auto graph = std::static_pointer_cast<Graph>(kept);
  if (!graph || graph->neighborhood().machine != communicator->machine(graph->settings().regions)) {
    Settings settings = read_settings(MPI_INFO_NULL);
    settings.strategy = settings.allgather;
    graph = Graph::complete(user, std::move(settings));
    kept = graph;
  }
  return graph;
}

}  // namespace vicinal
