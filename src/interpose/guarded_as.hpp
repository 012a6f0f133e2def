// What vicinal throws in the place of a function of MPI's is an error of that function.
#pragma once

#include <mpi.h>

#include "base/error.hpp"
#include "mpi/own_progress.hpp"

namespace vicinal::interpose {

/// Raises it on the user's communicator as of MPI's function that `ours` stands for. Returns the code.
int raise_for(const void* ours, MPI_Comm user, const Error& error) noexcept;

/// Runs `body`, and raises what it throws.
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
