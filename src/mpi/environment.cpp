// Queries of MPI that are valid at any time, even before MPI_Init and after MPI_Finalize.
#include "mpi/environment.hpp"

#include <dlfcn.h>
#include <pthread.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <string>

#include "base/error.hpp"

namespace vicinal::mpi {
namespace {

std::atomic<bool> forked = false;
std::atomic<int> sessions = 0;
std::atomic<bool> sessions_are_told = false;

/// An ABI, by its name in builds of vicinal.
struct Abi {
  const char* name;
  const char* whose;
};
constexpr Abi mpich{"mpich", "MPICH's ABI"};
constexpr Abi openmpi{"openmpi", "Open MPI's ABI"};
constexpr Abi standard{"abi", "the MPI standard's own ABI"};

#if defined(MPI_ABI_VERSION)
constexpr const Abi& compiled_for = standard;
#elif defined(OPEN_MPI)
constexpr const Abi& compiled_for = openmpi;
#else
constexpr const Abi& compiled_for = mpich;
#endif

/// Returns the ABI of the MPI in that file; null if it is linked into the program.
const Abi* abi_in(const char* file) {
  void* const mpi = dlopen(file, RTLD_LAZY | RTLD_NOLOAD);
  if (mpi == nullptr) return nullptr;
  int major = 0, minor = 0;
  if (void* const ask = dlsym(mpi, "MPI_Abi_get_version")) {
    reinterpret_cast<int (*)(int*, int*)>(ask)(&major, &minor);
  }
  const bool is_openmpi = dlsym(mpi, "ompi_mpi_comm_world") != nullptr;
  dlclose(mpi);
  if (major > 0) return &standard;
  return is_openmpi ? &openmpi : &mpich;
}

std::string find_abi_fault() {
  // If a Python module loads its own MPI privately, mpi4py has told the package which one.
  void* const function = find_symbol("PMPI_Initialized");
  Dl_info home{};
  if (function == nullptr || dladdr(function, &home) == 0) return {};
  const Abi* const called = abi_in(home.dli_fname);
  if (called == nullptr || called == &compiled_for) return {};
  return std::string("this is vicinal for ") + compiled_for.whose + ", but the program runs on " +
         home.dli_fname + ", which has " + called->whose + ": link it with vicinal-" +
         called->name + " in the place of vicinal-" + compiled_for.name;
}

}  // namespace

void require_fitting_abi() {
  static const std::string fault = find_abi_fault();
  if (fault.empty()) return;
  std::fprintf(stderr, "vicinal: %s\n", fault.c_str());
  std::_Exit(EXIT_FAILURE);
}

void claim_process() {
  // Registers on first use of MPI: a process may load the library, fork, and leave MPI to its
  // children.
  [[maybe_unused]] static const int registered = pthread_atfork(nullptr, nullptr, [] {
    forked.store(true, std::memory_order_relaxed);
    note_end();
  });
}

bool is_forked() noexcept { return forked.load(std::memory_order_relaxed); }

bool has_world() {
  int initialized = 0, finalized = 0;
  MPI_Initialized(&initialized);
  if (initialized != 0) MPI_Finalized(&finalized);
  return initialized != 0 && finalized == 0;
}

void session_opened() noexcept {
  sessions_are_told = true;
  ++sessions;
}

void session_closed() noexcept {
  int open = sessions;
  while (open > 0 && !sessions.compare_exchange_weak(open, open - 1)) {
  }
}

void find_session(MPI_Comm user) noexcept {
  const bool of_world = user == MPI_COMM_WORLD || user == MPI_COMM_SELF || user == MPI_COMM_NULL;
  int initialized = 0, none = 0;
  MPI_Initialized(&initialized);
  if (!sessions_are_told && !of_world && initialized == 0)
    sessions.compare_exchange_strong(none, 1);
}

void require_usable() {
  require(!is_forked(), Fault::communicator,
          "this process was forked from a rank of MPI, which only the rank itself may use; start "
          "processes that use MPI by MPI_Comm_spawn or the launcher");
  int finalized = 0;
  MPI_Finalized(&finalized);
  require(finalized == 0, Fault::communicator,
          "MPI_Finalize has been called; all use of vicinal comes before it");
  require(
      is_alive(), Fault::communicator,
      "MPI is not running; call MPI_Init before all use of vicinal, or give a communicator of a "
      "session (MPI_Session_init)");
}

int open_sessions() noexcept { return sessions.load(std::memory_order_relaxed); }

bool thread_multiple() {
  if (!is_alive()) return false;
  int provided = MPI_THREAD_SINGLE;
  MPI_Query_thread(&provided);
  return provided == MPI_THREAD_MULTIPLE;
}

bool thread_may_call() {
  if (!is_alive()) return false;
  int provided = MPI_THREAD_SINGLE, main = 0;
  MPI_Query_thread(&provided);
  if (provided == MPI_THREAD_MULTIPLE) return true;
  if (!has_world()) return false;  // Open MPI 5.0.11 would crash in the next call
  MPI_Is_thread_main(&main);
  return provided != MPI_THREAD_SERIALIZED && main != 0;
}

void* find_symbol(const char* name) { return dlsym(RTLD_DEFAULT, name); }

}  // namespace vicinal::mpi
