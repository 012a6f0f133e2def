// Converts MPI's operators and types.
#pragma once

#include <mpi.h>

#include "execute/combine.hpp"

namespace vicinal {

/// Returns how `op` combines elements of `values` values of `type`: by a kernel for common
/// operators on plain numbers, else by MPI. Throws an operation fault for MPI_OP_NULL, and for a
/// predefined operator that no MPI defines for the type.
Combine combine_of(MPI_Op op, MPI_Datatype type, Index values);

}  // namespace vicinal
