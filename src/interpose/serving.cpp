// Who progresses depends on the level of threads, which sessions may begin with in turn.
#include "interpose/serving.hpp"

#include <exception>
#include <optional>
#include <utility>

#include "base/log.hpp"
#include "base/setting.hpp"
#include "execute/activity.hpp"
#include "execute/progress_thread.hpp"
#include "interpose/ledger.hpp"
#include "mpi/backoff.hpp"
#include "mpi/environment.hpp"

namespace vicinal::interpose {
namespace {

/// Who brings on what this rank does for others while the program waits in MPI.
enum class Progress : std::uint8_t {
  mpi,     ///< MPI itself, from inside its own
  thread,  ///< one of the library's
  none,    ///< nobody: nothing may depend on it
};

Progress progress_of_process() {
  const bool inside = progress_inside_mpi();
  const Progress who = inside                   ? Progress::mpi
                       : mpi::thread_multiple() ? Progress::thread
                                                : Progress::none;
  need_progress_thread(who == Progress::thread);
  note_progress(inside ? "inside MPI" : who == Progress::thread ? "a thread" : "none");
  return who;
}

}  // namespace

Settings settings_from(MPI_Info info, MPI_Comm comm, std::optional<Error>& fault) {
  std::optional<Settings> settings;
  try {
    settings = read_settings(info, comm);
    if (progress_of_process() == Progress::none) settings->options.strict_progress = true;
  } catch (...) {
    fault = current_fault();
    settings.emplace();
  }
  return std::move(*settings);
}

bool has_regions_of_its_own() noexcept {
  try {
    // Where some ranks lack a variable that others have, setting up says so.
    return environment_value("vicinal_regions").has_value();
  } catch (const std::exception&) {
    return true;  // for all that is known: then all ranks set up
  }
}

void leave_to_mpi(const char* how, const std::exception& reason) noexcept {
  try {
    note_left(how, reason.what());
    // What a person has set, and cannot be had: for any communicator, or, of regions, for one of that size.
    const Fault kind = as_error(reason).fault();
    if (mpi::world_rank() == 0 && kind == Fault::info) {
      warn_once("the program runs without vicinal: ", reason.what());
    } else if (mpi::world_rank() == 0 && kind == Fault::topology) {
      warn_once("a communicator of ", how, " goes without vicinal: ", reason.what());
    }
    log_line(LogLevel::info, [&](std::ostream& line) {
      line << "a communicator of " << how << " is left to MPI: " << reason.what();
    });
  } catch (const std::exception&) {
    // Without memory, it is left all the same.
  }
}

}  // namespace vicinal::interpose
