// Intercepts MPI_Finalize and the session functions through MPI's profiling interface. MPI_Finalize
// stops the library's own thread before MPI ends. The callback of MPI_COMM_SELF is too late for
// that. MPICH stops locking before it calls it, so a thread inside MPI would keep a lock forever,
// and MPI_Finalize would abort.
//
// Both names of each function are intercepted, because tools and Fortran modules call the PMPI
// name. The next library in link order, another tool or MPI itself, is called as the program would
// have called it. A Python module that loads its own MPI bypasses this file: the package stops the
// thread when the interpreter ends.
//
// A session has no attributes, so only its own functions show that it begins and ends.
#include <dlfcn.h>
#include <mpi.h>

#include "mpi/backoff.hpp"
#include "mpi/communicator.hpp"
#include "mpi/environment.hpp"

namespace {

template <class... Arguments>
int call_next(const char* name, Arguments... arguments) {
  void* const next = dlsym(RTLD_NEXT, name);
  if (next == nullptr) return MPI_ERR_INTERN;
  return reinterpret_cast<int (*)(Arguments...)>(next)(arguments...);
}

int finalize(const char* name) {
  vicinal::mpi::stop_threads_hook();
  return call_next(name);
}

#ifdef MPI_SESSION_NULL
int session_init(const char* name, MPI_Info info, MPI_Errhandler handler, MPI_Session* session) {
  const int code = call_next(name, info, handler, session);
  if (code == MPI_SUCCESS) vicinal::mpi::session_opened();
  return code;
}

int session_finalize(const char* name, MPI_Session* session) {
  vicinal::mpi::Communicator::end_session();
  return call_next(name, session);
}
#endif

}  // namespace

extern "C" {
__attribute__((visibility("default"))) int MPI_Finalize() { return finalize("MPI_Finalize"); }
__attribute__((visibility("default"))) int PMPI_Finalize() { return finalize("PMPI_Finalize"); }
#ifdef MPI_SESSION_NULL
__attribute__((visibility("default"))) int MPI_Session_init(MPI_Info info, MPI_Errhandler handler,
                                                            MPI_Session* session) {
  return session_init("MPI_Session_init", info, handler, session);
}
__attribute__((visibility("default"))) int PMPI_Session_init(MPI_Info info, MPI_Errhandler handler,
                                                             MPI_Session* session) {
  return session_init("PMPI_Session_init", info, handler, session);
}
__attribute__((visibility("default"))) int MPI_Session_finalize(MPI_Session* session) {
  return session_finalize("MPI_Session_finalize", session);
}
__attribute__((visibility("default"))) int PMPI_Session_finalize(MPI_Session* session) {
  return session_finalize("PMPI_Session_finalize", session);
}
#endif
}
