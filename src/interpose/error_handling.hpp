// Whose error handler hears of the faults of what goes on after a call.
#pragma once

#include <mpi.h>

#include <atomic>

namespace vicinal::interpose {

/// The communicator's own, as long as the program has it.
struct ErrorHandling {
  explicit ErrorHandling(MPI_Comm user) : communicator(user) {}
  std::atomic<MPI_Comm> communicator;
};

}  // namespace vicinal::interpose
