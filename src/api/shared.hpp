// The common part of the C interface: the objects of handles, and the place where exceptions become
// MPI error classes.
#pragma once

#include <vicinal/vicinal.h>

#include <cstdint>
#include <memory>
#include <utility>

#include "collectives/graph.hpp"
#include "collectives/halo.hpp"
#include "collectives/handle.hpp"
#include "collectives/request.hpp"
#include "collectives/sparse_exchange.hpp"
#include "mpi/errors.hpp"
#include "mpi/own_progress.hpp"

struct vicinal_graph_s {
  vicinal::Handle handle{vicinal::HandleKind::graph, this};
  std::shared_ptr<vicinal::Graph> graph;
};
struct vicinal_halo_s {
  vicinal::Handle handle{vicinal::HandleKind::halo, this};
  std::unique_ptr<vicinal::Halo> halo;
};
struct vicinal_received_s {
  explicit vicinal_received_s(vicinal::Received what) : received(std::move(what)) {}
  vicinal::Handle handle{vicinal::HandleKind::received, this};
  vicinal::Received received;
};

namespace vicinal::c_api {

/// Runs `body`, and reports its exception to the error handler of `user`.
template <class Body>
int guarded(MPI_Comm user, Body body) noexcept {
  const mpi::Inside inside;
  try {
    body();
    return MPI_SUCCESS;
  } catch (...) {
    return mpi::raise(user, current_fault());
  }
}

/// The object of a kind of handle, and its name in messages.
template <class Given>
struct Behind;
template <>
struct Behind<vicinal_graph> {
  using Object = vicinal_graph_s;
  static constexpr HandleKind kind = HandleKind::graph;
  static constexpr const char* name = "graph";
};
template <>
struct Behind<vicinal_halo> {
  using Object = vicinal_halo_s;
  static constexpr HandleKind kind = HandleKind::halo;
  static constexpr const char* name = "halo";
};
template <>
struct Behind<vicinal_request> {
  using Object = Request;
  static constexpr HandleKind kind = HandleKind::request;
  static constexpr const char* name = "request";
};
template <>
struct Behind<vicinal_received> {
  using Object = vicinal_received_s;
  static constexpr HandleKind kind = HandleKind::received;
  static constexpr const char* name = "handle of what was received";
};

/// Returns the object of a handle; null if the handle is null or not alive.
template <class Given>
auto* find(Given handle) noexcept {
  const auto number = reinterpret_cast<std::uintptr_t>(handle);
  return static_cast<typename Behind<Given>::Object*>(Handle::find(number, Behind<Given>::kind));
}

/// Throws if a handle is neither alive nor null. `found` is its object.
template <class Given>
void require_alive(Given handle, const typename Behind<Given>::Object* found) {
  constexpr bool is_request = Behind<Given>::kind == HandleKind::request;
  require(found != nullptr || handle == nullptr, is_request ? Fault::request : Fault::argument,
          "a ", Behind<Given>::name, " was given that has been freed, or never was one. ",
          is_request
              ? "A request of a halo ends with the halo: wait for it before vicinal_halo_free. "
              : "",
          "A copy of a handle does not become null with it");
}

/// As find(), but throws if a handle is neither alive nor null.
template <class Given>
auto* object(Given handle) {
  auto* const found = find(handle);
  require_alive(handle, found);
  return found;
}

/// As object(), for a handle that must not be null.
template <class Given>
auto& given(Given handle) {
  require(handle != nullptr, Fault::argument, "a null ", Behind<Given>::name, " was given");
  return *object(handle);
}

template <class Given>
Given handle_of(std::uintptr_t number) {
  // NOLINTNEXTLINE(performance-no-int-to-ptr)
  return reinterpret_cast<Given>(number);
}
inline vicinal_request handle(Request* request) {
  return request == nullptr ? nullptr : handle_of<vicinal_request>(request->handle());
}
/// Returns the handle of an object, which the user owns from then on.
template <class Object>
Object* handle(std::unique_ptr<Object> object) {
  return handle_of<Object*>(object.release()->handle.number());
}

inline MPI_Comm error_communicator_of(MPI_Comm comm) { return comm; }
inline MPI_Comm error_communicator_of(vicinal_request request) {
  const Request* const found = find(request);
  return found == nullptr ? MPI_COMM_NULL : found->error_communicator();
}
inline MPI_Comm error_communicator_of(vicinal_graph graph) {
  const vicinal_graph_s* const found = find(graph);
  return found == nullptr ? MPI_COMM_NULL : found->graph->error_communicator();
}
inline MPI_Comm error_communicator_of(vicinal_halo halo) {
  const vicinal_halo_s* const found = find(halo);
  return found == nullptr ? MPI_COMM_NULL : found->halo->graph().error_communicator();
}
inline MPI_Comm error_communicator_of(vicinal_received received) {
  const vicinal_received_s* const found = find(received);
  return found == nullptr ? MPI_COMM_NULL : found->received.error_communicator();
}

}  // namespace vicinal::c_api
