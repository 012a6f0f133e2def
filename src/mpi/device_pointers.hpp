// Decides whether MPI may get addresses of a GPU's memory. An MPI without support for such memory
// accesses it with the CPU, which ends the process. So MPI is asked first. A message from this rank
// to itself is tried only if MPI says yes, or if the CPU can access that memory anyway.
#pragma once

#include <string_view>

#include "memory/kind.hpp"
#include "mpi/communicator.hpp"

namespace vicinal::mpi {

/// Returns whether a list like "system,mpi,cuda:device:managed" has a device's memory of a kind.
/// The info key "mpi_memory_alloc_kinds" has this form. An entry without restrictions has all of
/// it.
bool has_device_memory(std::string_view kinds, std::string_view kind);

/// Returns whether the MPI of this process sends from and receives into memory of this kind.
/// Determined and logged once for each kind. Local; for a thread that may call MPI.
bool takes_pointers(const Communicator& communicator, MemoryKind& kind);

}  // namespace vicinal::mpi
