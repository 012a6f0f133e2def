// The communicator whose error handler receives errors of operations that continue after a call.
#pragma once

#include <mpi.h>

#include <atomic>

namespace vicinal::interpose {

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
