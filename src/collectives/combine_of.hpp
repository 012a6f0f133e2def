// From MPI's operators and types to ours.
#pragma once

#include <mpi.h>

#include "execute/combine.hpp"

namespace vicinal {

/// How `op` combines elements of `values` values of `type`: by a kernel for the common operators on
/// plain numbers, by MPI otherwise. An operation fault for MPI_OP_NULL, and for an operator of MPI's that no MPI
/// defines for the type.
Combine combine_of(MPI_Op op, MPI_Datatype type, Index values);

}  // namespace vicinal
