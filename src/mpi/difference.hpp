// Reports to all ranks a setting that two of them gave differently.
#pragma once

#include <mpi.h>

#include <span>

#include "base/given.hpp"

namespace vicinal::mpi {

/// Called once it is known that not all ranks of a communicator of the library gave the same.
/// Throws an info fault on all of them. It names rank 0, the lowest rank that differs from it, and
/// both values. Collective.
[[noreturn]] void throw_difference(MPI_Comm communicator, std::span<const Given> mine);

/// Throws an info fault with the `message` of rank `speaker`. Collective.
[[noreturn]] void throw_told(MPI_Comm communicator, int speaker, const std::string& message);

}  // namespace vicinal::mpi
