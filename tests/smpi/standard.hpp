// Differences between SMPI's declarations and the standard; included before each source compiled
// for SMPI.
#pragma once

#include <mpi.h>

/// Leaves the status unchanged.
inline int MPI_Get_elements_x(const MPI_Status* status, MPI_Datatype type, MPI_Count* elements) {
  MPI_Status copy = *status;
  return MPI_Get_elements_x(&copy, type, elements);
}
