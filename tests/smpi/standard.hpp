// What SMPI declares otherwise than the standard; read before each source that is compiled for it.
#pragma once

#include <mpi.h>

/// The status is not changed.
inline int MPI_Get_elements_x(const MPI_Status* status, MPI_Datatype type, MPI_Count* elements) {
  MPI_Status copy = *status;
  return MPI_Get_elements_x(&copy, type, elements);
}
