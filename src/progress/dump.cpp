// The dump and its signal.
#include "progress/dump.hpp"

#include <csignal>
#include <iostream>
#include <optional>
#include <sstream>
#include <string>

#include "base/guarded.hpp"
#include "base/no_destructor.hpp"
#include "base/setting.hpp"
#include "mpi/backoff.hpp"
#include "mpi/communicator.hpp"
#include "progress/activity.hpp"

namespace vicinal {

/// All activities that exist.
class Everything {
 public:
  void add(Activity* activity) {
    const Lock lock(mutex_);
    activity->in_dump_ = true;
    activity->next_ = first_;
    if (first_ != nullptr) first_->last_ = activity;
    first_ = activity;
  }
  void remove(Activity* activity) {
    const Lock lock(mutex_);
    activity->in_dump_ = false;
    if (activity->next_ != nullptr) activity->next_->last_ = activity->last_;
    (activity->last_ != nullptr ? activity->last_->next_ : first_) = activity->next_;
  }
  void describe(std::ostream& out) {
    if (!mutex_.try_lock()) return;
    const Lock lock(mutex_, std::adopt_lock);
    for (Activity* activity = first_; activity != nullptr; activity = activity->next_) {
      if (const ReportLock its(*activity); its) activity->describe(out);
    }
  }

 private:
  Mutex mutex_;
  Activity* first_ VICINAL_GUARDED_BY(mutex_) = nullptr;
};

namespace {

Everything& everything() {
  static NoDestructor<Everything> all;
  return *all;
}

/// Set by the signal handler.
volatile std::sig_atomic_t dump_asked = 0;

constexpr const char* dump_signal_key = "vicinal_dump_signal";

/// Returns the signal that requests a dump; 0 if none is named, -1 if it cannot be caught.
int install_dump_signal() {
  const std::optional<std::string> text = environment_value(dump_signal_key);
  if (!text) return 0;
  const std::int64_t number = read_whole_number(*text).value_or(0);
  const bool caught = number > 0 && number < NSIG &&
                      std::signal(static_cast<int>(number), [](int) { dump_asked = 1; }) != SIG_ERR;
  return caught ? static_cast<int>(number) : -1;
}

/// When the library is loaded, before anything else: an early signal must not kill the rank.
const int dump_signal = [] {
  mpi::long_wait_hook = [] { answer_dump_signal(); };
  return install_dump_signal();
}();

}  // namespace

void Activity::enter_dump() {
  if (!in_dump_) everything().add(this);
}

void Activity::leave_dump() noexcept {
  if (in_dump_) everything().remove(this);
}

void answer_dump_signal() noexcept {
  if (dump_asked == 0) return;
  dump_asked = 0;
  try {
    std::ostringstream text;
    describe_pending(text);
    std::cerr << text.str() << std::flush;
  } catch (const std::exception&) {
    // If it fails to allocate, there is no dump.
  }
}

void check_dump_signal() {
  if (dump_signal >= 0) return;
  refuse(setting(dump_signal_key), variable_of(dump_signal_key), process_value(dump_signal_key));
}

void describe_pending(std::ostream& out) {
  const Reporting reporting;
  mpi::describe_waits(out);
  everything().describe(out);
  mpi::describe_communicators(out);
}

}  // namespace vicinal
