// What the MPI underneath can do, and whether it is still there. MPI features beyond the common
// base are found by looking their symbol up, since the version that was compiled against says
// nothing of the one that was loaded.
#pragma once

#include <mpi.h>

namespace vicinal::mpi {

[[nodiscard]] bool is_initialized();
[[nodiscard]] bool is_finalized();
/// MPI may be called now.
[[nodiscard]] inline bool is_alive() { return is_initialized() && !is_finalized(); }
/// Several threads may call MPI at the same time.
[[nodiscard]] bool thread_multiple();

/// The address of an MPI function in the MPI that is loaded; null where it has none.
[[nodiscard]] void* find_symbol(const char* name);

}  // namespace vicinal::mpi
