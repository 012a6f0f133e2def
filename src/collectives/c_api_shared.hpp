// What the parts of the C interface share: handles, and the place where exceptions become MPI error
// classes.
#pragma once

#include <vicinal/vicinal.h>

#include <memory>
#include <optional>
#include <vector>

#include "collectives/graph.hpp"
#include "collectives/halo.hpp"
#include "collectives/request.hpp"
#include "mpi/errors.hpp"

struct vicinal_graph_s {
  std::shared_ptr<vicinal::Graph> graph;
};
struct vicinal_halo_s {
  std::unique_ptr<vicinal::Halo> halo;
};

namespace vicinal::c_api {

/// Runs `body`; reports what it throws to the error handler of `user`.
template <class Body>
int guarded(MPI_Comm user, Body body) noexcept {
  try {
    body();
    return MPI_SUCCESS;
  } catch (...) {
    return mpi::raise(user, current_fault());
  }
}

inline Request* object(vicinal_request request) { return reinterpret_cast<Request*>(request); }
inline vicinal_request handle(Request* request) {
  return reinterpret_cast<vicinal_request>(request);
}

inline MPI_Comm error_communicator_of(vicinal_request request) {
  return request == nullptr ? MPI_COMM_NULL : object(request)->error_communicator();
}
inline MPI_Comm error_communicator_of(vicinal_graph graph) {
  return graph == nullptr ? MPI_COMM_NULL : graph->graph->error_communicator();
}
inline MPI_Comm error_communicator_of(vicinal_halo halo) {
  return halo == nullptr ? MPI_COMM_NULL : halo->halo->graph().error_communicator();
}

template <class Handle>
void require_handle(Handle given, const char* what) {
  require(given != nullptr, Fault::argument, "a null ", what, " was given");
}

template <class Number>
void check_list(const Number* values, std::int64_t count, const char* what) {
  require(count >= 0, Fault::argument, "the number of ", what, " is ", count,
          "; it must not be negative");
  require(count == 0 || values != nullptr, Fault::argument, count, " ", what,
          " were announced, but the array is null");
}

template <class Number>
std::vector<Number> list(const Number* values, std::int64_t count, const char* what) {
  check_list(values, count, what);
  return {values, values + count};
}

/// What is wrong with the arguments, where something is. In collective calls the others, who are
/// waiting for this rank, must learn of it.
template <class Read>
std::optional<Error> fault_of(Read read) {
  try {
    read();
  } catch (...) {
    return current_fault();
  }
  return std::nullopt;
}

}  // namespace vicinal::c_api
