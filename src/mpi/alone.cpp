// A library that does not understand what its launcher tells it takes itself for a job of one rank.
// What the launcher told is in the environment all the same, in variables of its own.
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

/// What a kind of launcher tells a rank of its job.
struct Launcher {
  const char* size;     ///< the variable with the number of ranks
  const char* rank;     ///< that with the rank's own number
  const char* library;  ///< the MPI library of this kind, as a file
};

constexpr Launcher hydra{"PMI_SIZE", "PMI_RANK", "PREFIX/lib/libmpi.so.12"};
constexpr Launcher prrte{"OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_RANK", "PREFIX/lib/libmpi.so.40"};
/// Of a step, which srun starts; a job's batch script has SLURM_NTASKS and is not launched with others.
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
  if (!has_world()) return;  // nobody knows how many processes a session was to have
  int size = 0;
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  if (size > 1) return;
  // The first that has said anything is right: the library's own launcher, where it is that, or else
  // whoever launched the process. A variable of another may be left from further outside.
  const bool is_openmpi = library_is("Open MPI");
  for (const Launcher& launcher : {is_openmpi ? prrte : hydra, is_openmpi ? hydra : prrte, slurm}) {
    const std::optional<int> ranks = number_in(launcher.size);
    if (!ranks) continue;
    if (*ranks > 1 && number_in(launcher.rank).value_or(0) == 0) {
      announce(std::string(launcher.size) + "=" + std::to_string(*ranks), launcher.library);
    }
    return;
  }
  // PMIx tells the number of ranks only to those who ask by its protocol.
  if (number_in("PMIX_RANK") == 1) announce("PMIX_RANK=1", prrte.library);
}

}  // namespace

void announce_if_alone() {
  static const bool announced = (look(), true);
  static_cast<void>(announced);
}

}  // namespace vicinal::mpi
