// MPI_Finalize, intercepted as MPI's profiling interface foresees, to take the library's own thread out of MPI
// before MPI ends. The callback of MPI_COMM_SELF is too late for that: MPICH stops locking before it calls it, so
// that a thread which is inside MPI just then keeps a lock for ever, and MPI_Finalize aborts. Both names are
// taken, because tools and Fortran modules call the second one; whoever comes next in the order of linking, another
// tool or MPI itself, is called as the program would have. A Python module that brings its own MPI does not come by
// here: the package stops the thread when the interpreter ends.
#include <dlfcn.h>
#include <mpi.h>

#include "mpi/backoff.hpp"

namespace {

int finalize(const char* name) {
  vicinal::mpi::stop_threads_hook();
  void* const next = dlsym(RTLD_NEXT, name);
  return next != nullptr ? reinterpret_cast<int (*)()>(next)() : MPI_ERR_INTERN;
}

}  // namespace

extern "C" {
__attribute__((visibility("default"))) int MPI_Finalize() { return finalize("MPI_Finalize"); }
__attribute__((visibility("default"))) int PMPI_Finalize() { return finalize("PMPI_Finalize"); }
}
