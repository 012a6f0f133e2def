// Completion of MPI requests by each of MPI's functions, in an order that each rank chooses.
#pragma once

#include <mpi.h>

#include <functional>
#include <vector>

#include "trial.hpp"

namespace fuzz {

/// A request in flight.
struct MpiInFlight {
  MPI_Request* request;
  /// Receives the code of the completion, the name of its function, and the status unless it was
  /// ignored.
  std::function<void(int code, const char* by, const MPI_Status* status)> done;
  bool persistent_collective = false;
};

/// Completes all requests, in groups of random size, each group by one function.
void complete_by_mpi(Trial& trial, std::vector<MpiInFlight> requests);

/// Tests all requests once, without blocking, and removes complete ones from the list.
void look_by_mpi(Trial& trial, std::vector<MpiInFlight>& requests);

/// Returns whether the library is preloaded. Without it, programs avoid known errors of MPIs.
bool is_preloaded();

}  // namespace fuzz
