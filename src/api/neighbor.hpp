// The common part of the C interface's neighborhood collectives. Each is a reader of its arguments,
// run in one of three forms: blocking, nonblocking or persistent.
#pragma once

#include <concepts>
#include <memory>
#include <utility>

#include "api/arguments.hpp"
#include "api/shared.hpp"
#include "collectives/all_ranks.hpp"
#include "collectives/call_queue.hpp"
#include "collectives/persistent_request.hpp"

namespace vicinal::c_api {

/// Returns a reader that also rejects overlapping receive regions. Under MPI's own names, programs
/// may do what their MPI allows.
template <class Read>
auto apart(Read read) {
  return [=](const Graph& graph, NeighborArguments& arguments) {
    read(graph, arguments);
    check_disjoint(arguments.receive);
  };
}

/// Returns a reader that also checks the pointer for the request. Other ranks learn if it is null.
template <class Read>
auto into(vicinal_request* request, Read read) {
  return [=](const Graph& graph, NeighborArguments& arguments) {
    read(graph, arguments);
    require_handle(request, "request");
  };
}

// Each of these runs `read`, which fills in the arguments for a graph.

template <class Read>
void complete(Graph& graph, Read read) {
  NeighborArguments arguments;
  auto fault = fault_of([&] { read(graph, arguments); });
  enter_call(graph, std::move(arguments), std::move(fault), Form::blocking).finish();
}

template <class Read>
std::unique_ptr<Request> begin(const std::shared_ptr<Graph>& graph, Read read) {
  NeighborArguments arguments;
  auto fault = fault_of([&] { read(*graph, arguments); });
  return enter_call(*graph, std::move(arguments), std::move(fault), Form::nonblocking)
      .request(graph);
}

/// Plans the exchange that `read` fills in, with the settings that `read_settings` returns.
template <class ReadSettings, class Read>
std::unique_ptr<Request> plan(const std::shared_ptr<Graph>& graph, ReadSettings read_settings,
                              Read read) {
  std::unique_ptr<PersistentRequest> request;
  std::optional<Settings> settings;
  const auto unreadable = fault_of([&] {
    request = std::make_unique<PersistentRequest>(graph);
    settings = read_settings();
  });
  if (unreadable) graph->refuse_plan(*unreadable);
  NeighborArguments arguments;
  auto fault = fault_of([&] { read(*graph, arguments); });
  request->plan_for(std::move(arguments), std::move(*settings), std::move(fault));
  return request;
}

// A call is on a user's graph, or on the complete graph of a communicator.

inline std::shared_ptr<Graph> graph_of(vicinal_graph graph) { return given(graph).graph; }
inline std::shared_ptr<Graph> graph_of(MPI_Comm comm) { return graph_of_all(comm); }

template <class On, class Read>
int blocking(On on, Read read) noexcept {
  return guarded(error_communicator_of(on), [&] { complete(*graph_of(on), apart(read)); });
}

template <class On, class Read>
int nonblocking(On on, vicinal_request* request, Read read) noexcept {
  return guarded(error_communicator_of(on), [&] {
    *request = handle(begin(graph_of(on), into(request, apart(read))).release());
  });
}

template <class On, class Read>
int persistent(On on, MPI_Info info, vicinal_request* request, Read read) noexcept {
  return guarded(error_communicator_of(on), [&] {
    const auto graph = graph_of(on);
    const auto settings_of_call = [&] {
      if (info == MPI_INFO_NULL) return graph->settings();
      Settings settings = read_settings(info, graph->communicator().handle());
      if constexpr (std::same_as<On, MPI_Comm>) {
        require(settings.regions == graph->settings().regions, Fault::info, "vicinal_regions is '",
                settings.regions,
                "' for a collective over a communicator, whose regions it cannot change; call "
                "vicinal_set_regions, or create a complete graph with these regions");
      }
      return settings;
    };
    *request = handle(plan(graph, settings_of_call, into(request, apart(read))).release());
  });
}

}  // namespace vicinal::c_api
