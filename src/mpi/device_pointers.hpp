// Whether MPI may be given addresses of a GPU's memory. An MPI that does not know such memory touches it with the
// processor, which ends the process. So it is asked, and tried with messages from this rank to itself only where it says
// yes, or where the processor reaches that memory anyway, as some do and the driver's double can.
#pragma once

#include <string_view>

#include "memory/kind.hpp"
#include "mpi/communicator.hpp"

namespace vicinal::mpi {

/// Whether a list as "system,mpi,cuda:device:managed", what "mpi_memory_alloc_kinds" is of, has a device's memory of a
/// kind. One without restrictions has all of it.
bool has_device_memory(std::string_view kinds, std::string_view kind);

/// Whether the MPI of this process sends from and receives into memory of this kind. Found out once for each kind, for
/// the log, too. Local; for a thread that may call MPI.
bool takes_pointers(const Communicator& communicator, MemoryKind& kind);

}  // namespace vicinal::mpi
