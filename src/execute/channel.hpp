// A channel executes a plan, one execution after the other. It has the plan bound to memory, and
// the run through the plan's graph.
//
// The owner of an Execution starts, tests and waits. An execution continues for other ranks after
// its owner has lost interest: the list of active ones keeps the channel, and so the plan, alive. A
// later execution queues behind it.
//
// A rank whose call has failed executes nevertheless: it awaits, signals and acknowledges as usual,
// but hands over no data. It sends its messages at once, empty, and discards incoming ones. A rank
// that receives no data passes nothing on either. So a failure reaches only the ranks whose data
// depend on it. Every rank completes the execution, and all stay in step for the next one.
//
// Thread safety: functions not marked thread-safe are for one thread at a time. Callers of
// advance() and describe() need the activity's lock; the owner's functions take it.
#pragma once

#include <atomic>
#include <cstdint>
#include <deque>
#include <exception>
#include <iosfwd>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "execute/bound_plan.hpp"
#include "execute/run.hpp"
#include "progress/activity.hpp"

namespace vicinal {

class AgreedPlan;

class Channel final : public Activity {
 public:
  /// Selects who progresses an execution on which other ranks depend.
  enum class Progress : std::uint8_t {
    by_all,     ///< every test and wait of the process
    by_caller,  ///< only the caller that started it, by test()
  };

  /// Belongs to `plan`, which must be owned by shared pointers.
  Channel(AgreedPlan& plan, const Plan& program,
          const std::vector<std::shared_ptr<SlotHeader>>& headers, int index, DeviceChoice choice);
  Channel(const Channel&) = delete;
  Channel& operator=(const Channel&) = delete;
  ~Channel() override { leave_dump(); }

  /// Sets up the next executions; cheap if nothing has changed. Not while an execution is in
  /// flight.
  void bind(const Binding& binding);

  /// Begins an execution with these buffers. Local; never waits for another rank. Throws a request
  /// fault if one is in flight. After any other fault, none is in flight for the caller, and this
  /// rank participates so that other ranks can complete.
  void start(const Binding& binding, Progress progress = Progress::by_all);
  /// Participates in an execution that the caller cannot start. Ranks whose data depend on this
  /// rank learn of the failure.
  void start_after_failure();
  /// Progresses this channel alone. Returns true once the execution is complete, or if none is in
  /// flight. Throws the fault because of which data are missing; the execution is over then.
  bool test(Polls polls = {});
  /// Polls, then yields, then sleeps, until the execution is complete; progresses all activities.
  /// Throws as test().
  void wait();
  /// As test(). Also returns true once only a GPU's work on the target is left, and the stream's
  /// later work waits for it.
  bool test_or_leave(std::uintptr_t stream, Polls polls);
  /// Waits until test_or_leave() returns true. The next start throws a fault of the GPU's work.
  /// Throws as test(). Throws an argument fault, with the execution still in flight, if the buffers
  /// are not a GPU's.
  void wait_on(std::uintptr_t stream);
  /// Begins operations whose events have happened, unless another thread progresses this channel.
  /// Thread-safe.
  void take_events() noexcept;
  /// Throws the fault with which an execution in flight has ended, if any. The owner must still
  /// wait for it.
  void check();
  /// Thread-safe.
  [[nodiscard]] bool in_flight() const {
    return owners_.load(std::memory_order_relaxed) != Owners::none;
  }
  /// Progresses the channel. Returns true if nothing is in progress, not even for other ranks.
  [[nodiscard]] bool test_idle();
  /// Waits until test_idle() returns true, after a failed blocking call: its caller may never
  /// progress again.
  void wait_idle();
  [[nodiscard]] const AgreedPlan& plan() const { return plan_; }
  /// Continues a sentence with the planner and the awaited ranks, if known. Thread-safe.
  void name_awaited(std::ostream& out);

  bool advance() noexcept override { return advance(1); }
  void describe(std::ostream& out) const override;

  /// Closes other ranks' memory, unless the channel has an owner or is in flight. Thread-safe.
  void let_go() noexcept;

 private:
  friend class Execution;

  /// State of the owner's execution, until the owner has seen its end.
  enum class Owners : std::uint8_t { none, in_progress, over };

  void enter() noexcept { owner_count_.fetch_add(1, std::memory_order_relaxed); }
  void leave() noexcept;
  [[nodiscard]] std::shared_ptr<Channel> self();
  /// As advance(), with one poll that counts as `polls`, because more polls would find nothing new.
  bool advance(int polls) noexcept;
  /// Begins an execution, after those in progress; null for an execution of a failed call.
  void enqueue(const Binding* binding);
  void begin_next();
  void begin(const Binding* binding);
  void progress_messages_of_the_program();
  /// Returns whether the owner's execution is over. Then none is in flight any more, and its fault
  /// is thrown.
  bool take_end();
  void end(std::exception_ptr fault) noexcept;
  void give_up(std::exception_ptr fault, int origin) noexcept;
  void look_for_notices();
  void finish_left();
  [[nodiscard]] bool is_idle() const { return given_up_ || (!run_.in_flight() && queue_.empty()); }
  /// Returns whether other ranks may depend on the progress of this rank.
  [[nodiscard]] bool wants_progress() const {
    return !is_idle() && (run_.relays() || run_.failed() || !queue_.empty());
  }

  AgreedPlan& plan_;
  std::atomic<Owners> owners_ = Owners::none;
  bool runs_for_owner_ = false;
  bool listed_for_owner_ = false;  ///< in the list of active ones
  bool given_up_ = false;          ///< for good: the plan is lost
  bool left_to_stream_ = false;    ///< the last execution, not seen to end
  int polls_ = 0;                  ///< of an execution, since the last check for notices
  std::exception_ptr fault_;       ///< of the owner's last execution
  BoundPlan bound_;
  Run run_;
  std::deque<std::optional<Binding>> queue_;
  std::atomic<int> owner_count_ = 0;
};

/// The right to execute in a channel. A channel may have several owners, one after the other. The
/// destructor waits for an execution in flight.
class Execution {
 public:
  Execution(const std::shared_ptr<AgreedPlan>& plan, bool reverse, int index);
  Execution(const Execution&) = delete;
  Execution& operator=(const Execution&) = delete;
  ~Execution() { channel_->leave(); }
  Channel* operator->() const { return channel_.get(); }
  Channel& operator*() const { return *channel_; }

 private:
  std::shared_ptr<Channel> channel_;
};

}  // namespace vicinal
