// What programs do besides the collectives under test: messages, other collectives, windows, other communicators, attributes.
#pragma once

#include <mpi.h>

#include <functional>
#include <memory>
#include <vector>

#include "trial.hpp"

namespace fuzz {

/// A request that a foreign call has left pending. `check` runs once it is complete.
struct Errand {
  MPI_Request request = MPI_REQUEST_NULL;
  std::function<void(const MPI_Status* status)> check;
  bool is_collective = false;
};

/// What a foreign call has to know of the program around it.
struct Surroundings {
  int number = 0;              ///< tells this call from all others of the program
  bool busy = false;           ///< exchanges are in flight
  bool may_make_comms = true;  ///< this call may make communicators
};

/// Makes a random call over the communicator and checks what comes of it. Collective over its members.
void call_foreign(Trial& trial, MPI_Comm comm, const Surroundings& around,
                  std::vector<Errand>& pending);

}  // namespace fuzz
