// Makes the complete graph of a communicator once, and keeps it.
#include "collectives/all_ranks.hpp"

#include <optional>
#include <utility>

namespace vicinal {
namespace {

struct GraphOfAll {
  std::shared_ptr<Graph> graph;
};

}  // namespace

std::shared_ptr<Graph> graph_of_all(MPI_Comm user) {
  const auto communicator = mpi::Communicator::of(user);
  auto& graph = communicator->extension_until_freed<GraphOfAll>().graph;
  if (!graph || graph->neighborhood().machine != communicator->machine(graph->settings().regions)) {
    std::optional<Error> fault;
    std::optional<Settings> settings;
    attempt(fault, [&] { settings = read_settings(MPI_INFO_NULL, user); });
    if (!settings) settings.emplace();
    graph = Graph::complete(communicator, std::move(*settings), std::move(fault));
  }
  return graph;
}

EdgeData own_block(const EdgeData& receive, const Graph& graph) {
  const EdgePiece& own = receive.piece(static_cast<std::size_t>(graph.neighborhood().rank));
  EdgeData data;
  data.buffer = address(receive.buffer, own.offset);
  data.one_block = true;
  data.pieces.push_back({0, 0, own.count, own.type});
  return data;
}

}  // namespace vicinal
