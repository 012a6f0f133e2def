// Ranks that were launched together and do not find each other.
#pragma once

namespace vicinal::mpi {

/// Says once per process, on standard error, that it was launched with others and yet is alone in
/// MPI_COMM_WORLD: its launcher and its MPI library do not belong together, and each rank would do the
/// whole work, without a word. Of ranks that know their number, the first that can tell says it. MPI must
/// be running.
void announce_if_alone();

}  // namespace vicinal::mpi
