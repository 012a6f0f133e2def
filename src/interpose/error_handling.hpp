// Whose error handler hears of the faults of what goes on after a call.
#pragma once

#include <mpi.h>

#include <atomic>

namespace vicinal::interpose {

/// The communicator's own, as long as the program has it. Of one that is being made, MPI_COMM_NULL until it is found in use.
struct ErrorHandling {
  explicit ErrorHandling(MPI_Comm user) : communicator(user) {}
  void found(MPI_Comm user) {
    if (communicator.load(std::memory_order_relaxed) == MPI_COMM_NULL) communicator = user;
  }
  std::atomic<MPI_Comm> communicator;
};

}  // namespace vicinal::interpose
