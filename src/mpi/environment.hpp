// What the MPI underneath can do, and whether it is still there. MPI features beyond the common
// base are found by looking their symbol up, since the version that was compiled against says
// nothing of the one that was loaded.
#pragma once

#include <mpi.h>

namespace vicinal::mpi {

[[nodiscard]] bool is_initialized();
[[nodiscard]] bool is_finalized();
/// From now on this process is the one that may call MPI: processes that it forks may not, since to the
/// others they are nobody, and what they did would be done in this process's name.
void claim_process();
/// This process was forked from one that had claimed MPI.
[[nodiscard]] bool is_forked() noexcept;
/// MPI may be called now.
[[nodiscard]] inline bool is_alive() { return !is_forked() && is_initialized() && !is_finalized(); }
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
