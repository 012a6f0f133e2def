// What the parts of the C interface share: handles, and the place where exceptions become MPI error
// classes.
#pragma once

#include <vicinal/vicinal.h>

#include <memory>
#include <utility>

#include "collectives/graph.hpp"
#include "collectives/halo.hpp"
#include "collectives/request.hpp"
#include "collectives/sparse_exchange.hpp"
#include "mpi/errors.hpp"
#include "mpi/own_progress.hpp"

struct vicinal_graph_s {
  std::shared_ptr<vicinal::Graph> graph;
};
struct vicinal_halo_s {
  std::unique_ptr<vicinal::Halo> halo;
};
struct vicinal_received_s {
  explicit vicinal_received_s(vicinal::Received what) : received(std::move(what)) {}
  vicinal::Received received;
};

namespace vicinal::c_api {

/// Runs `body`; reports what it throws to the error handler of `user`.
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

inline Request* object(vicinal_request request) { return reinterpret_cast<Request*>(request); }
inline vicinal_request handle(Request* request) {
  return reinterpret_cast<vicinal_request>(request);
}

inline MPI_Comm error_communicator_of(MPI_Comm comm) { return comm; }
inline MPI_Comm error_communicator_of(vicinal_request request) {
  return request == nullptr ? MPI_COMM_NULL : object(request)->error_communicator();
}
inline MPI_Comm error_communicator_of(vicinal_graph graph) {
  return graph == nullptr ? MPI_COMM_NULL : graph->graph->error_communicator();
}
inline MPI_Comm error_communicator_of(vicinal_halo halo) {
  return halo == nullptr ? MPI_COMM_NULL : halo->halo->graph().error_communicator();
}
inline MPI_Comm error_communicator_of(vicinal_received received) {
  return received == nullptr ? MPI_COMM_NULL : received->received.error_communicator();
}

}  // namespace vicinal::c_api
