// An MPI library that does not understand its launcher runs as a job of one rank. The launcher's
// own environment variables still tell how many ranks it started.
#include "mpi/alone.hpp"

#include <mpi.h>

#include <charconv>
#include <cstdlib>
#include <optional>
#include <string>
#include <string_view>

#include "base/log.hpp"
#include "mpi/environment.hpp"
#include "mpi/library.hpp"

namespace vicinal::mpi {
namespace {

/// Environment variables by which a kind of launcher describes its job to a rank.
struct Launcher {
  const char* size;     ///< variable with the number of ranks
  const char* rank;     ///< variable with the rank's own number
  const char* library;  ///< file of the MPI library of this kind
};

constexpr Launcher hydra{"PMI_SIZE", "PMI_RANK", "PREFIX/lib/libmpi.so.12"};
constexpr Launcher prrte{"OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_RANK", "PREFIX/lib/libmpi.so.40"};
/// Variables of a step, which srun starts. A job's batch script has SLURM_NTASKS and is not
/// launched with others.
constexpr Launcher slurm{"SLURM_STEP_NUM_TASKS", "SLURM_PROCID", "the libmpi that srun serves"};

std::optional<int> number_in(const char* variable) {
  const char* text = std::getenv(variable);
  if (text == nullptr) return std::nullopt;
  const std::string_view digits(text);
  int value = 0;
  const auto [end, fault] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
  if (fault != std::errc() || end != digits.data() + digits.size()) return std::nullopt;
  return value;
}

void announce(const std::string& launched, const char* library) {
  warn_once(
      "this process was launched with others (" + launched +
      "), but is alone in MPI_COMM_WORLD: its launcher is not that of the MPI library it runs "
      "on (" +
      library_version() +
      "). Launch it with that library's own mpiexec, or run it on the launcher's library (with "
      "mpi4py: MPI4PY_LIBMPI=" +
      library + ")");
}

void look() {
  if (!has_world()) return;  // the size of a session is unknown
  int size = 0;
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  if (size > 1) return;
  // The first launcher with a variable set is the right one: the library's own launcher, or else
  // the actual one. The variable of another launcher may stem from an enclosing job.
  const bool is_openmpi = library_is("Open MPI");
  for (const Launcher& launcher : {is_openmpi ? prrte : hydra, is_openmpi ? hydra : prrte, slurm}) {
    const std::optional<int> ranks = number_in(launcher.size);
    if (!ranks) continue;
    if (*ranks > 1 && number_in(launcher.rank).value_or(0) == 0) {
      announce(std::string(launcher.size) + "=" + std::to_string(*ranks), launcher.library);
    }
    return;
  }
  // PMIx tells the number of ranks only through its own protocol.
  if (number_in("PMIX_RANK") == 1) announce("PMIX_RANK=1", prrte.library);
}

}  // namespace

void announce_if_alone() {
  static const bool announced = (look(), true);
  static_cast<void>(announced);
}

}  // namespace vicinal::mpi
