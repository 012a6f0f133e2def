// Telling all ranks what two of them have given differently.
#pragma once

#include <mpi.h>

#include <span>

#include "base/given.hpp"

namespace vicinal::mpi {

/// Once it is known that not all ranks of a communicator of our own have given the same: throws an info
/// fault that names rank 0, the lowest rank that differs from it, and both values, on all of them.
/// Collective.
[[noreturn]] void throw_difference(MPI_Comm communicator, std::span<const Given> mine);

/// Throws an info fault with what rank `speaker` says. Collective.
[[noreturn]] void throw_told(MPI_Comm communicator, int speaker, const std::string& message);

}  // namespace vicinal::mpi
