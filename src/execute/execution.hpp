// An execution of a plan: one channel of it, with what is in flight there.
#pragma once

#include <atomic>
#include <cstdint>
#include <iosfwd>
#include <memory>
#include <optional>

#include "execute/activity.hpp"
#include "execute/agreed_plan.hpp"

namespace vicinal {

class Turns;

class Execution {
 public:
  /// Who progresses an execution that others depend on.
  enum class Progress : std::uint8_t {
    by_all,     ///< every test and wait of the process
    by_caller,  ///< whoever has started it, by advance()
  };

  Execution(const std::shared_ptr<AgreedPlan>& plan, bool reverse, int channel);
  Execution(const Execution&) = delete;
  Execution& operator=(const Execution&) = delete;
  /// Waits for an execution that is in flight.
  ~Execution();

  /// Begins an execution with these buffers. Local; never waits for another rank. A request fault
  /// where one is in flight already. Any other fault is this rank's alone: nothing is in flight then,
  /// as far as the caller is concerned, but this rank takes part for the others' sake.
  void start(const Binding& binding, Progress progress = Progress::by_all);
  /// In the place of a start that cannot be made, because of a fault that the caller reports: takes part
  /// for the others' sake. They hear of the fault where their data depend on this rank's.
  void start_at_fault();
  /// True once the execution is complete, or none is in flight. Progresses this one only. Throws the
  /// fault for which what was due has not all come; the execution is over then.
  bool advance(Polls polls = {});
  /// From any thread: begins what waits for events that have happened, unless another thread progresses this
  /// execution.
  void take_events() noexcept;
  /// Throws the fault with which an execution in flight has ended, if it has; it stays to be waited for.
  void check();
  /// Polls, then yields, then sleeps, progressing whatever is active, until complete. Throws as advance().
  void wait();
  /// Whether it is complete, or so far that a stream of the user's can wait for the rest of it, as wait_on() has it. Throws as that does.
  bool advance_or_leave(std::uintptr_t stream, Polls polls = {});
  /// Waits until it is complete but for what a GPU has still to do in the target, which what is put on a stream of the user's
  /// from then on comes after; it is not in flight any more then. A fault of that is told of by the next start. Throws as advance();
  /// an argument fault, with the execution in flight as before, where the buffers are not a GPU's.
  void wait_on(std::uintptr_t stream);
  [[nodiscard]] bool in_flight() const { return in_flight_.load(std::memory_order_relaxed); }
  /// Whether nothing is under way (any more), not even for the others' sake; progresses that.
  [[nodiscard]] bool test_idle();
  /// Polls until that is so: for blocking calls that have failed, lest this rank leave the others for
  /// somewhere else.
  void wait_idle();
  [[nodiscard]] const AgreedPlan& plan() const;
  /// Goes on with a sentence: ", with ranks 3 5", whom it waits for as far as it knows.
  void name_awaited(std::ostream& out) const;

 private:
  void finish_left();

  std::shared_ptr<Turns> turns_;
  std::atomic<bool> in_flight_ = false;  ///< written by who executes; a dump may look
  bool listed_ = false;                  ///< among the active ones, while it is in flight
  bool left_to_stream_ = false;          ///< the last one, and nobody has seen it over
};

}  // namespace vicinal
