// What the neighborhood collectives of the C interface share. Each is a reader of its arguments,
// run in one of three ways.
#pragma once

#include <cstddef>
#include <memory>
#include <utility>
#include <vector>

#include "collectives/c_api_shared.hpp"
#include "collectives/edge_data.hpp"
#include "collectives/neighbor_call.hpp"
#include "collectives/persistent_request.hpp"

namespace vicinal::c_api {

/// An entry of a user's array for each entry of `ends`, as our own numbers.
template <class Number>
std::vector<Index> by_entry(const Number* values, const Ends& ends) {
  if (ends.entry_of.empty()) return {};
  require(values != nullptr, Fault::argument,
          "a null array of counts or displacements was given for ", ends.entry_of.size(), " edges");
  return {values, values + ends.ranks.size()};
}

inline std::vector<MPI_Datatype> types_by_entry(const MPI_Datatype* types, const Ends& ends) {
  if (ends.entry_of.empty()) return {};
  require(types != nullptr, Fault::argument, "a null array of datatypes was given for ",
          ends.entry_of.size(), " edges");
  return {types, types + ends.ranks.size()};
}

template <class Count, class Displacement>
EdgeData blocks_of(const void* buffer, const Count* counts, const Displacement* displacements,
                   MPI_Datatype type, const Ends& ends) {
  return blocks(buffer, by_entry(counts, ends), by_entry(displacements, ends), type, ends);
}

template <class Count>
EdgeData typed_blocks_of(const void* buffer, const Count* counts, const MPI_Aint* displacements,
                         const MPI_Datatype* types, const Ends& ends) {
  return typed_blocks(buffer, by_entry(counts, ends), by_entry(displacements, ends),
                      types_by_entry(types, ends), ends);
}

/// Reads, and looks at the place for the request: the others are told where there is none.
template <class Read>
auto into(vicinal_request* request, Read read) {
  return [=](const Graph& graph, NeighborArguments& arguments) {
    read(graph, arguments);
    require_handle(request, "request");
  };
}

/// Runs `read` on the arguments that it is to fill in, for a graph.
template <class Read>
std::unique_ptr<Request> begin(const std::shared_ptr<Graph>& graph, Form form, Read read) {
  NeighborArguments arguments;
  auto fault = fault_of([&] { read(*graph, arguments); });
  return begin_neighbor_call(graph, std::move(arguments), std::move(fault), form);
}

template <class Read>
std::unique_ptr<Request> begin(vicinal_graph graph, Form form, Read read) {
  require_handle(graph, "graph");
  return begin(graph->graph, form, read);
}

/// Plans what `read` fills in, with `settings` unless they could not be read.
template <class Read>
Request* plan(const std::shared_ptr<Graph>& graph, const Settings& settings,
              const std::optional<Error>& unreadable, Read read) {
  if (unreadable) graph->refuse_plan(*unreadable);
  NeighborArguments arguments;
  auto fault = fault_of([&] { read(*graph, arguments); });
  return new PersistentRequest(graph, std::move(arguments), settings, std::move(fault));
}

template <class Read>
int blocking(vicinal_graph graph, Read read) noexcept {
  return guarded(error_communicator_of(graph), [&] { begin(graph, Form::blocking, read)->wait(); });
}

template <class Read>
int nonblocking(vicinal_graph graph, vicinal_request* request, Read read) noexcept {
  return guarded(error_communicator_of(graph), [&] {
    *request = handle(begin(graph, Form::nonblocking, into(request, read)).release());
  });
}

template <class Read>
int persistent(vicinal_graph graph, MPI_Info info, vicinal_request* request, Read read) noexcept {
  return guarded(error_communicator_of(graph), [&] {
    require_handle(graph, "graph");
    Settings settings = graph->graph->settings();
    const auto unreadable = fault_of([&] {
      if (info != MPI_INFO_NULL) settings = read_settings(info);
    });
    *request = handle(plan(graph->graph, settings, unreadable, into(request, read)));
  });
}

}  // namespace vicinal::c_api
