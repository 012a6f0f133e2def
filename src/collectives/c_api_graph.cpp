// The C interface: the library itself, regions, and graphs.
#include <utility>

#include "collectives/c_api_shared.hpp"
#include "execute/execution.hpp"

namespace {

using namespace vicinal::c_api;

/// Creates a graph by `make`, from settings and what is wrong with the arguments.
template <class Read, class Make>
int create_graph(MPI_Comm comm, MPI_Info info, vicinal_graph* graph, Read read,
                 Make make) noexcept {
  return guarded(comm, [&] {
    require_handle(graph, "graph");
    auto made = std::make_unique<vicinal_graph_s>();
    vicinal::Settings settings;
    auto fault = fault_of([&] {
      read();
      settings = vicinal::read_settings(info);
    });
    made->graph = make(std::move(settings), std::move(fault));
    *graph = made.release();
  });
}

}  // namespace

extern "C" {

const char* vicinal_version(void) { return VICINAL_VERSION_STRING; }

const char* vicinal_error_message(void) { return vicinal::mpi::last_error_message(); }

int vicinal_set_regions(MPI_Comm comm, const char* regions) {
  return guarded(comm, [&] {
    require_handle(regions, "text");
    vicinal::mpi::Communicator::of(comm)->set_regions(regions);
  });
}

int vicinal_get_regions(MPI_Comm comm, int region_of[]) {
  return guarded(comm, [&] {
    require_handle(region_of, "array");
    const auto machine = vicinal::mpi::Communicator::of(comm)->machine();
    for (int rank = 0; rank < machine->size(); ++rank) region_of[rank] = machine->region_of(rank);
  });
}

int vicinal_graph_create_adjacent(MPI_Comm comm, int indegree, const int sources[],
                                  const int* sourceweights, int outdegree, const int destinations[],
                                  const int* destweights, MPI_Info info, int reorder,
                                  vicinal_graph* graph) {
  // Weights could only steer a reordering, and ranks are never reordered.
  static_cast<void>(sourceweights);
  static_cast<void>(destweights);
  static_cast<void>(reorder);
  std::vector<int> from, to;
  const auto read = [&] {
    from = list(sources, indegree, "sources");
    to = list(destinations, outdegree, "destinations");
  };
  return create_graph(comm, info, graph, read, [&](auto settings, auto fault) {
    return std::make_shared<vicinal::Graph>(comm, std::move(from), std::move(to),
                                            std::move(settings), std::move(fault));
  });
}

int vicinal_graph_create_from_topology(MPI_Comm comm, MPI_Info info, vicinal_graph* graph) {
  return create_graph(
      comm, info, graph, [] {},
      [&](auto settings, auto fault) {
        return vicinal::Graph::from_topology(comm, std::move(settings), std::move(fault));
      });
}

int vicinal_graph_create_complete(MPI_Comm comm, MPI_Info info, vicinal_graph* graph) {
  return create_graph(
      comm, info, graph, [] {},
      [&](auto settings, auto fault) {
        return vicinal::Graph::complete(comm, std::move(settings), std::move(fault));
      });
}

int vicinal_graph_free(vicinal_graph* graph) {
  return guarded(MPI_COMM_NULL, [&] {
    require_handle(graph, "pointer to a graph");
    delete *graph;
    *graph = VICINAL_GRAPH_NULL;
  });
}

}  // extern "C"
