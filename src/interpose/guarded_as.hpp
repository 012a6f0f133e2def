// Raises vicinal's exceptions as errors of the MPI function that vicinal replaces. The error
// handler of a communicator also receives errors of operations that continue after a call.
#pragma once

#include <mpi.h>

#include <atomic>

#include "base/error.hpp"
#include "mpi/own_progress.hpp"

namespace vicinal::interpose {

/// Raises the error on the user's communicator, as one of the MPI function that `ours` replaces.
/// Returns the error code.
int raise_for(const void* ours, MPI_Comm user, const Error& error) noexcept;

/// Runs `body`, and raises its exception. Returns an error code.
template <class Body>
int guarded_as(const void* ours, MPI_Comm user, Body body) noexcept {
  const mpi::Inside inside;
  try {
    body();
    return MPI_SUCCESS;
  } catch (...) {
    return raise_for(ours, user, current_fault());
  }
}

/// Holds the communicator as long as the program has it. Holds MPI_COMM_NULL for one that is being
/// made, until its first use.
struct ErrorHandling {
  explicit ErrorHandling(MPI_Comm user) : communicator(user) {}
  void found(MPI_Comm user) {
    if (communicator.load(std::memory_order_relaxed) == MPI_COMM_NULL) communicator = user;
  }
  std::atomic<MPI_Comm> communicator;
};

}  // namespace vicinal::interpose
