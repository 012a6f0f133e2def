// The executions of a request, one after the other. They use one plan, or several in turn until the
// fastest is known (contest.hpp).
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <deque>
#include <exception>
#include <iosfwd>
#include <memory>
#include <optional>
#include <vector>

#include "choose/contest.hpp"
#include "execute/agreed_plan.hpp"

namespace vicinal {

/// Has the functions of Channel, with the same meaning.
class Executions {
 public:
  using Progress = Channel::Progress;
  Executions(const Chosen& chosen, bool reverse, int channel, Progress progress = Progress::by_all);
  Executions(const Executions&) = delete;
  Executions& operator=(const Executions&) = delete;
  ~Executions();

  /// Call it only while none is in flight. `number`: of the execution, equal on all ranks, each
  /// used once; by default the contest counts.
  void start(const Binding& binding, std::optional<std::int64_t> number = std::nullopt) {
    start(&binding, number);
  }
  void start_after_failure(std::optional<std::int64_t> number = std::nullopt) {
    start(nullptr, number);
  }
  bool advance(Polls polls = {});
  void wait();
  /// As Channel::wait_on(), but an execution that is timed is waited for.
  void wait_on(std::uintptr_t stream);
  void take_events() noexcept { now().take_events(); }
  void check();
  [[nodiscard]] bool in_flight() const {
    return late_.load(std::memory_order_acquire) != Late::none || now().in_flight();
  }
  [[nodiscard]] bool test_idle();
  void wait_idle();
  /// Returns the plan of the last execution, or of the first one.
  [[nodiscard]] const AgreedPlan& plan() const { return now().plan(); }
  void name_awaited(std::ostream& out) const;

 private:
  friend class Contest;

  // Called by the contest, with its lock held.
  /// Begins postponed executions whose decision is known now.
  void begin_postponed() noexcept;
  /// Drops all postponed executions, because of this fault.
  void give_up(const std::exception_ptr& fault) noexcept;

  /// State of the owner's start, if it was postponed.
  enum class Late : std::uint8_t {
    none,
    postponed,
    failed,  ///< with a fault that the owner does not know yet
  };

  void end_late(const std::exception_ptr& fault) noexcept;
  void throw_late_fault();
  [[nodiscard]] Channel& now() const { return *now_.load(std::memory_order_acquire); }
  void start(const Binding* binding, std::optional<std::int64_t> number);
  [[nodiscard]] bool begin(const Binding* binding, std::optional<std::int64_t> given);
  void await_decision();
  [[nodiscard]] Channel& channel_by(std::size_t plan);
  [[nodiscard]] bool is_postponed();
  [[nodiscard]] bool have_all_begun();
  template <class Act>
  bool timed(Act act);

  std::shared_ptr<Contest> contest_;  ///< null if there is only one plan (any more)
  const int channel_;
  const Progress progress_;
  std::vector<std::unique_ptr<Execution>> each_;  ///< by plan; null if not used yet
  std::atomic<Channel*> now_ = nullptr;           ///< of the last start
  struct Waiting {
    std::int64_t number;
    std::optional<Binding> binding;  ///< empty for a failed call
  };
  std::deque<Waiting> waiting_;  ///< for a decision
  std::atomic<Late> late_ = Late::none;
  std::exception_ptr late_fault_;  ///< the contest's while a start is postponed
  std::int64_t number_ = -1;       ///< of the execution being timed, or -1
  std::int64_t spent_ns_ = 0;      ///< on it, by its caller
  /// End of the last poll, if the caller waits.
  std::optional<std::chrono::steady_clock::time_point> waiting_since_;
};

}  // namespace vicinal
