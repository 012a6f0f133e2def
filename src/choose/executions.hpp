// The executions of a request, one after the other: of one plan, or, until the quickest is found, of several in
// turn (contest.hpp).
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
#include "execute/execution.hpp"

namespace vicinal {

/// As an Execution, whose words these are.
class Executions {
 public:
  using Progress = Execution::Progress;
  Executions(const Chosen& chosen, bool reverse, int channel, Progress progress = Progress::by_all);
  Executions(const Executions&) = delete;
  Executions& operator=(const Executions&) = delete;
  ~Executions();

  /// With none in flight. `number`: of the execution, the same on all ranks, each once; without it the contest counts.
  void start(const Binding& binding, std::optional<std::int64_t> number = std::nullopt) {
    start(&binding, number);
  }
  void start_at_fault(std::optional<std::int64_t> number = std::nullopt) { start(nullptr, number); }
  bool advance(Polls polls = {});
  void wait();
  /// One that is timed is waited for.
  void wait_on(std::uintptr_t stream);
  void take_events() noexcept { now().take_events(); }
  void check();
  [[nodiscard]] bool in_flight() const {
    return late_.load(std::memory_order_acquire) != Late::none || now().in_flight();
  }
  [[nodiscard]] bool test_idle();
  void wait_idle();
  /// Of the last execution, or the next.
  [[nodiscard]] const AgreedPlan& plan() const { return now().plan(); }
  void name_awaited(std::ostream& out) const;

 private:
  friend class Contest;

  // By the contest, with its claim held.
  /// Begins the executions that have waited for a verdict that is there now.
  void begin_what_was_put_off() noexcept;
  /// There will be none.
  void give_up(const std::exception_ptr& fault) noexcept;

  /// What is to be said of the owner's start, where that was put off.
  enum class Late : std::uint8_t {
    none,
    put_off,
    failed,  ///< with a fault that the owner has not been told of
  };

  void end_late(const std::exception_ptr& fault) noexcept;
  void throw_late_fault();
  [[nodiscard]] Execution& now() const { return *now_.load(std::memory_order_acquire); }
  void start(const Binding* binding, std::optional<std::int64_t> number);
  [[nodiscard]] bool begin(const Binding* binding, std::optional<std::int64_t> given);
  void await_verdict();
  [[nodiscard]] Execution& execution_by(std::size_t plan);
  [[nodiscard]] bool is_put_off();
  [[nodiscard]] bool have_all_begun();
  template <class Act>
  bool timed(Act act);

  std::shared_ptr<Contest> contest_;  ///< null where there is one plan (by now)
  const int channel_;
  const Progress progress_;
  std::vector<std::unique_ptr<Execution>> each_;  ///< by plan; null where none has been begun
  std::atomic<Execution*> now_ = nullptr;         ///< of the last start
  struct Waiting {
    std::int64_t number;
    std::optional<Binding> binding;  ///< at fault where there is none
  };
  std::deque<Waiting> waiting_;  ///< for a verdict
  std::atomic<Late> late_ = Late::none;
  std::exception_ptr late_fault_;  ///< the contest's while the start is put off
  std::int64_t number_ = -1;       ///< of the execution that is timed; -1: none
  std::int64_t spent_ns_ = 0;      ///< on it, by its caller
  std::optional<std::chrono::steady_clock::time_point>
      waiting_since_;  ///< the end of the last look, where the caller waits
};

}  // namespace vicinal
