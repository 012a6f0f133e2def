// The common part of all that vicinal serves: settings, progress, and leaving to MPI what vicinal
// cannot serve.
#pragma once

#include <mpi.h>

#include <exception>
#include <optional>

#include "base/error.hpp"
#include "collectives/settings.hpp"
#include "mpi/own_progress.hpp"

namespace vicinal::interpose {

// Reasons for which a communicator is left to MPI.
inline constexpr const char* on_one_host = "all its ranks are in one region";
inline constexpr const char* nobody_progresses =
    "nobody brings on what others depend on while the program waits in MPI";

/// Returns the settings for a communicator. Sets `fault` if they cannot be read; other ranks learn
/// of it when a graph is made. Progress is strict if nothing makes progress for other ranks while
/// the program waits in MPI.
[[nodiscard]] Settings settings_from(MPI_Info info, MPI_Comm comm, std::optional<Error>& fault);

/// Returns whether the environment defines the regions. Then ranks on one host may be in several
/// regions.
[[nodiscard]] bool has_regions_of_its_own() noexcept;

/// Leaves a communicator that cannot be served to MPI: tells the report, the user and the log.
void leave_to_mpi(const char* how, const std::exception& reason) noexcept;

/// Runs `body`, which makes vicinal serve a communicator. If that fails, on all ranks, MPI serves
/// it.
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
