// Detects ranks that were launched together but do not find each other.
#pragma once

namespace vicinal::mpi {

/// Warns once per process on standard error if it was launched with others but is alone in
/// MPI_COMM_WORLD. Its launcher and its MPI library then do not belong together, and each rank
/// silently does all the work. Of ranks that know their number, only the first that can detect this
/// warns. MPI must be running.
void announce_if_alone();

}  // namespace vicinal::mpi
