// Completion of MPI's requests by each of its functions for that, in an order of each rank's own.
#pragma once

#include <mpi.h>

#include <functional>
#include <vector>

#include "trial.hpp"

namespace fuzz {

/// A request in flight.
struct MpiInFlight {
  MPI_Request* request;
  /// Receives what the completion returned, by which function, and the status where one was asked for.
  std::function<void(int code, const char* by, const MPI_Status* status)> done;
  bool persistent_collective = false;
};

/// Completes them all, in groups of random size, each by one of the functions for that.
void complete_by_mpi(Trial& trial, std::vector<MpiInFlight> requests);

/// Looks once at all of them, without waiting; those that are complete are taken off the list.
void look_by_mpi(Trial& trial, std::vector<MpiInFlight>& requests);

/// Whether the library stands before this program. Without it, programs avoid what an MPI does wrong.
bool is_preloaded();

}  // namespace fuzz
