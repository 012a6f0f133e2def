// The C interface: the library itself, regions, and graphs.
#include <algorithm>
#include <memory>
#include <optional>
#include <utility>

#include "api/arguments.hpp"
#include "api/shared.hpp"
#include "execute/agreed_plan.hpp"

namespace {

using namespace vicinal::c_api;

/// Creates a graph by `make`, from the settings and the error in the arguments, if any. `read`
/// reads the other arguments.
template <class Read, class Make>
int create_graph(MPI_Comm comm, MPI_Info info, vicinal_graph* graph, Read read,
                 Make make) noexcept {
  return guarded(comm, [&] {
    std::unique_ptr<vicinal_graph_s> made;
    std::optional<vicinal::Settings> settings;
    auto fault = fault_of([&] {
      require_handle(graph, "graph");
      made = std::make_unique<vicinal_graph_s>();
      read();
      settings = vicinal::read_settings(info, comm);
    });
    if (!settings) settings.emplace();
    made->graph = make(std::move(*settings), std::move(fault));
    *graph = handle(std::move(made));
  });
}

int create_from_one_side(MPI_Comm comm, int degree, const int* ranks, bool are_sources,
                         MPI_Info info, vicinal_graph* graph) noexcept {
  std::vector<int> known;
  const auto read = [&] { known = list(ranks, degree, are_sources ? "sources" : "destinations"); };
  return create_graph(comm, info, graph, read, [&](auto settings, auto fault) {
    return vicinal::Graph::from_one_side(comm, std::move(known), are_sources, std::move(settings),
                                         std::move(fault));
  });
}

}  // namespace

extern "C" {

const char* vicinal_version(void) { return VICINAL_VERSION_STRING; }

const char* vicinal_error_message(void) { return vicinal::mpi::last_error_message(); }

int vicinal_set_regions(MPI_Comm comm, const char* regions) {
  return guarded(comm, [&] {
    const auto communicator = vicinal::mpi::Communicator::of(comm);
    require_handle(regions, "text");
    communicator->set_regions(regions);
  });
}

int vicinal_get_regions(MPI_Comm comm, int region_of[]) {
  return guarded(comm, [&] {
    const auto machine = vicinal::mpi::Communicator::of(comm)->machine();
    require_handle(region_of, "array");
    for (int rank = 0; rank < machine->size(); ++rank) region_of[rank] = machine->region_of(rank);
  });
}

int vicinal_graph_create_adjacent(MPI_Comm comm, int indegree, const int sources[],
                                  const int* sourceweights, int outdegree, const int destinations[],
                                  const int* destweights, MPI_Info info, int reorder,
                                  vicinal_graph* graph) {
  // Weights only influence a reordering, and vicinal never reorders ranks.
  static_cast<void>(sourceweights);
  static_cast<void>(destweights);
  static_cast<void>(reorder);
  vicinal::Ends from, to;
  const auto read = [&] {
    from = vicinal::Ends(list(sources, indegree, "sources"));
    to = vicinal::Ends(list(destinations, outdegree, "destinations"));
  };
  return create_graph(comm, info, graph, read, [&](auto settings, auto fault) {
    return vicinal::Graph::make(vicinal::mpi::Communicator::of(comm), std::move(from),
                                std::move(to), std::move(settings), std::move(fault));
  });
}

int vicinal_graph_create_from_topology(MPI_Comm comm, MPI_Info info, vicinal_graph* graph) {
  return create_graph(
      comm, info, graph, [] {},
      [&](auto settings, auto fault) {
        return vicinal::Graph::from_topology(comm, std::move(settings), std::move(fault));
      });
}

int vicinal_graph_create_from_destinations(MPI_Comm comm, int outdegree, const int destinations[],
                                           MPI_Info info, vicinal_graph* graph) {
  return create_from_one_side(comm, outdegree, destinations, false, info, graph);
}

int vicinal_graph_create_from_sources(MPI_Comm comm, int indegree, const int sources[],
                                      MPI_Info info, vicinal_graph* graph) {
  return create_from_one_side(comm, indegree, sources, true, info, graph);
}

int vicinal_graph_create_complete(MPI_Comm comm, MPI_Info info, vicinal_graph* graph) {
  return create_graph(
      comm, info, graph, [] {},
      [&](auto settings, auto fault) {
        return vicinal::Graph::complete(comm, std::move(settings), std::move(fault));
      });
}

int vicinal_graph_neighbors(vicinal_graph graph, int* indegree, int sources[], int* outdegree,
                            int destinations[]) {
  return guarded(error_communicator_of(graph), [&] {
    const vicinal::Graph& its = *given(graph).graph;
    const auto copy = [](const vicinal::Ends& ends, int* degree, int* ranks) {
      if (degree != nullptr) *degree = static_cast<int>(ends.ranks.size());
      if (ranks != nullptr) std::copy(ends.ranks.begin(), ends.ranks.end(), ranks);
    };
    copy(its.sources(), indegree, sources);
    copy(its.destinations(), outdegree, destinations);
  });
}

int vicinal_graph_free(vicinal_graph* graph) {
  return guarded(MPI_COMM_NULL, [&] {
    require_handle(graph, "pointer to a graph");
    delete object(*graph);
    *graph = VICINAL_GRAPH_NULL;
  });
}

}  // extern "C"
