// Registration of the callback with each MPI. These functions are found by name, since they are not
// in the standard.
//
// Open MPI: opal_progress_register, which its own components use. The registration is permanent.
//
// MPICH: MPIX_Async_start, until the callback says that it is done. MPI_Finalize waits for that. If
// several threads may call MPICH, it holds a lock during the callback, and a test inside the
// callback would take that lock again.
#include "mpi/own_progress.hpp"

#include <dlfcn.h>
#include <mpi.h>

#include "mpi/environment.hpp"

namespace vicinal::mpi {
namespace {

using OpenMpiRegister = int (*)(int (*)());
using OpenMpiProgress = void (*)();
using MpichStart = int (*)(int (*)(void*), void*, int);
using MpichProgress = int (*)(int);

constexpr int mpich_no_stream = 0x3c000000;
constexpr int mpich_not_done = 0, mpich_done = 1;

/// Finds a function of the MPI in use or of its dependencies, even if it is not visible in the
/// process.
void* find_in_mpi(const char* name) {
  Dl_info home{};
  if (dladdr(reinterpret_cast<void*>(&MPI_Comm_rank), &home) == 0 || home.dli_fname == nullptr) {
    return nullptr;
  }
  void* const mpi = dlopen(home.dli_fname, RTLD_LAZY | RTLD_NOLOAD);
  if (mpi == nullptr) return nullptr;
  void* const found = dlsym(mpi, name);
  dlclose(mpi);
  return found;
}

struct ProgressHooks {
  OpenMpiRegister open_mpi =
      reinterpret_cast<OpenMpiRegister>(find_in_mpi("opal_progress_register"));
  OpenMpiProgress open_mpi_progress =
      reinterpret_cast<OpenMpiProgress>(find_in_mpi("opal_progress"));
  MpichStart mpich = reinterpret_cast<MpichStart>(find_in_mpi("MPIX_Async_start"));
  MpichProgress mpich_progress =
      reinterpret_cast<MpichProgress>(find_in_mpi("PMPIX_Stream_progress"));
};

const ProgressHooks& hooks() {
  static const ProgressHooks found;
  return found;
}

FromProgress called = nullptr;
std::atomic<bool> is_called = false;
std::atomic<bool> is_finalizing = false;

int from_open_mpi() {
  called();
  return 0;
}

/// The callback calls MPI, and MPICH then calls this function again. Only the outermost call may
/// report that it is done: MPICH then frees its entry, which the outer calls still use.
int from_mpich(void* /*thing*/) {
  static std::atomic<bool> is_inside = false;
  if (is_inside.exchange(true, std::memory_order_acquire)) return mpich_not_done;
  const bool is_needed = called();
  if (!is_needed) is_called.store(false, std::memory_order_relaxed);
  is_inside.store(false, std::memory_order_release);
  return is_needed ? mpich_not_done : mpich_done;
}

}  // namespace

bool can_call_from_progress() {
  if (hooks().open_mpi != nullptr) return true;
  return hooks().mpich != nullptr && is_alive() && !thread_multiple();
}

bool may_call_from_progress() { return hooks().open_mpi != nullptr || hooks().mpich != nullptr; }

void call_from_progress(FromProgress what) {
  if (is_finalizing.load(std::memory_order_relaxed)) return;
  if (is_called.load(std::memory_order_relaxed) || !is_alive() || !can_call_from_progress()) return;
  if (is_called.exchange(true)) return;
  called = what;
  if (hooks().open_mpi != nullptr) {
    hooks().open_mpi(from_open_mpi);
  } else {
    hooks().mpich(from_mpich, nullptr, mpich_no_stream);
  }
}

void end_calls_from_progress() noexcept { is_finalizing.store(true, std::memory_order_relaxed); }

void make_progress() {
  if (!is_called.load(std::memory_order_relaxed) || !is_alive()) return;
  if (hooks().open_mpi != nullptr) {
    hooks().open_mpi_progress();
  } else {
    hooks().mpich_progress(mpich_no_stream);
  }
}

}  // namespace vicinal::mpi
