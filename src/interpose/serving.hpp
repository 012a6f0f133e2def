// What holds for whatever is to be served: its settings, who brings it on, and that what cannot be served stays with MPI.
#pragma once

#include <mpi.h>

#include <exception>
#include <optional>

#include "base/error.hpp"
#include "collectives/settings.hpp"
#include "mpi/own_progress.hpp"

namespace vicinal::interpose {

// Why a communicator is left to MPI.
inline constexpr const char* on_one_host = "all its ranks are in one region";
inline constexpr const char* nobody_progresses =
    "nobody brings on what others depend on while the program waits in MPI";

/// What holds for a communicator; what cannot be read is told to the others when a graph is made. Strict where nobody
/// brings on what this rank does for others while the program waits in MPI.
[[nodiscard]] Settings settings_from(MPI_Info info, MPI_Comm comm, std::optional<Error>& fault);

/// Whether the environment says where regions are, so that being on one host says nothing.
[[nodiscard]] bool has_regions_of_its_own() noexcept;

/// A communicator stays with MPI since it cannot be served: for the report, for people, and for the log.
void leave_to_mpi(const char* how, const std::exception& reason) noexcept;

/// Runs what has a communicator served. Where it fails, on all ranks, MPI serves it.
template <class Body>
void or_leave_to_mpi(const char* how, Body body) noexcept {
  const mpi::Inside inside;
  try {
    body();
  } catch (const std::exception& reason) {
    leave_to_mpi(how, reason);
  }
}

}  // namespace vicinal::interpose
