// Raises vicinal's exceptions as errors of the MPI function that vicinal replaces.
#pragma once

#include <mpi.h>

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

}  // namespace vicinal::interpose
