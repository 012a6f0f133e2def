// Calls of programs besides the tested collectives: messages, other collectives, windows,
// communicators, attributes.
#pragma once

#include <mpi.h>

#include <functional>
#include <memory>
#include <vector>

#include "trial.hpp"

namespace fuzz {

/// A request that a foreign call leaves pending. `check` runs when it is complete.
struct Errand {
  MPI_Request request = MPI_REQUEST_NULL;
  std::function<void(const MPI_Status* status)> check;
  bool is_collective = false;
};

/// Context of a foreign call.
struct Surroundings {
  int number = 0;              ///< distinguishes the calls of a program
  bool busy = false;           ///< exchanges are in flight
  bool may_make_comms = true;  ///< this call may make communicators
};

/// Makes a random call on the communicator and checks its result. Collective over its members.
void call_foreign(Trial& trial, MPI_Comm comm, const Surroundings& around,
                  std::vector<Errand>& pending);

}  // namespace fuzz
