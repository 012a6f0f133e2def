// Questions to MPI that may be asked at any time, before MPI_Init and after MPI_Finalize too.
#include "mpi/environment.hpp"

#include <dlfcn.h>

namespace vicinal::mpi {

bool is_initialized() {
  int flag = 0;
  MPI_Initialized(&flag);
  return flag != 0;
}

bool is_finalized() {
  int flag = 0;
  MPI_Finalized(&flag);
  return flag != 0;
}

bool thread_multiple() {
  if (!is_alive()) return false;
  int provided = MPI_THREAD_SINGLE;
  MPI_Query_thread(&provided);
  return provided == MPI_THREAD_MULTIPLE;
}

void* find_symbol(const char* name) { return dlsym(RTLD_DEFAULT, name); }

}  // namespace vicinal::mpi
