// What the MPI underneath can do, and whether it is still there. MPI features beyond the common
// base are found by looking their symbol up, since the version that was compiled against says
// nothing of the one that was loaded.
#pragma once

#include <mpi.h>

#include <atomic>

namespace vicinal::mpi {

/// MPI_COMM_WORLD and MPI_COMM_SELF are there: MPI_Init has been called, and MPI_Finalize has not.
[[nodiscard]] bool has_world();
/// The program has opened or closed a session (MPI_Session_init, MPI_Session_finalize).
void session_opened() noexcept;
void session_closed() noexcept;
/// Opens one for the program where it uses a communicator and MPI seems not to run: nobody has told of its session.
void find_session(MPI_Comm user) noexcept;
/// How many are open.
[[nodiscard]] int open_sessions() noexcept;
/// From now on this process is the one that may call MPI: processes that it forks may not, since to the
/// others they are nobody, and what they did would be done in this process's name.
void claim_process();
/// This process was forked from one that had claimed MPI.
[[nodiscard]] bool is_forked() noexcept;
/// Throws a communicator fault where the library may not be used now, and says why.
void require_usable();
namespace detail {
inline std::atomic<bool> may_be_unusable = false;
}
/// The process was forked, or MPI ends: what was made before may not be used any more.
inline void note_end() noexcept { detail::may_be_unusable.store(true, std::memory_order_relaxed); }
/// The same as require_usable(), for every use of what was made while the library was usable: costs a look at a flag.
inline void check_usable() {
  if (detail::may_be_unusable.load(std::memory_order_relaxed)) [[unlikely]]
    require_usable();
}
/// MPI may be called now.
[[nodiscard]] inline bool is_alive() {
  return !is_forked() && (has_world() || open_sessions() > 0);
}
/// Several threads may call MPI at the same time.
[[nodiscard]] bool thread_multiple();
/// The calling thread may call MPI, whatever other threads do.
[[nodiscard]] bool thread_may_call();

/// Ends the process, having said why in one line, where the program was linked with the library for an MPI of another ABI: then
/// no handle means what it should, so there is no error handler to tell either. To be called before the first handle is used.
void require_fitting_abi();

/// The address of an MPI function in the MPI that is loaded; null where it has none.
[[nodiscard]] void* find_symbol(const char* name);

}  // namespace vicinal::mpi
