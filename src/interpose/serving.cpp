// Finds the settings of communicators, and who makes progress. The thread level decides the latter,
// and may change as sessions begin one after the other.
#include "interpose/serving.hpp"

#include <exception>
#include <optional>
#include <utility>

#include "base/log.hpp"
#include "base/setting.hpp"
#include "interpose/call_profile.hpp"
#include "mpi/backoff.hpp"
#include "mpi/environment.hpp"
#include "progress/activity.hpp"
#include "progress/progress_thread.hpp"

namespace vicinal::interpose {
namespace {

/// Source of this rank's progress for other ranks while the program waits in MPI.
enum class Progress : std::uint8_t {
  mpi,     ///< MPI, from inside its own progress
  thread,  ///< a thread of the library
  none,    ///< none: other ranks must not depend on it
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
    // If only some ranks have the variable, set-up reports that.
    return environment_value("vicinal_regions").has_value();
  } catch (const std::exception&) {
    return true;  // possibly; all ranks set up then
  }
}

void leave_to_mpi(const char* how, const std::exception& reason) noexcept {
  try {
    note_left(how, reason.what());
    // Settings of the user that cannot take effect: for any communicator, or, if they are regions,
    // for one of this size.
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
    // The communicator is left to MPI even if this fails to allocate.
  }
}

}  // namespace vicinal::interpose
