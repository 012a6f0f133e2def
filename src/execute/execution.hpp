// Executions under way, and how they progress. A relayed message needs its leader, so every wait in
// the library, and every call to progress(), polls all executions of the process that others may
// depend on. An execution is polled by one thread at a time; no thread ever waits for another's poll
// unless it is of the same execution.
#pragma once

#include <atomic>
#include <exception>
#include <functional>
#include <iosfwd>
#include <memory>

#include "execute/agreed_plan.hpp"

namespace vicinal {

struct ProgressEntry;

/// One channel of a plan with its place in the list of what is to be progressed.
class Execution {
 public:
  Execution(std::shared_ptr<AgreedPlan> plan, bool reverse, int channel);
  Execution(const Execution&) = delete;
  Execution& operator=(const Execution&) = delete;
  /// Waits for an execution that is in flight.
  ~Execution();

  /// Begins an execution with these buffers. Local; never waits for another rank. A request fault
  /// where one is in flight already.
  void start(const Binding& binding);
  /// True once the execution is complete, or none is in flight. Progresses this execution only. A
  /// fault of kind `elsewhere` where another rank has given up the plan: looked for now and then.
  bool test();
  /// Polls, then yields, then sleeps, progressing every execution of the process, until complete.
  void wait();
  [[nodiscard]] bool in_flight() const { return in_flight_; }
  [[nodiscard]] const AgreedPlan& plan() const { return *plan_; }

 private:
  bool poll(int times);
  void heed();
  void finish();

  std::shared_ptr<AgreedPlan> plan_;
  Channel& channel_;
  ProgressEntry* entry_;
  bool in_flight_ = false;
  int polls_ = 0;  ///< since the start, or since notices were last looked for
};

/// How often whoever waits looks for notices: once in so many polls, since the look costs a probe.
constexpr int polls_between_notices = 512;

/// Throws mpi::FaultElsewhere where another rank has given up the plan, after telling those that may
/// wait for this one. Also writes the dump that a signal has asked for.
void heed_notices(const std::shared_ptr<AgreedPlan>& plan);

/// Polls every execution of the process that another rank may depend on. Never throws: an execution
/// that fails reports it to whoever waits for it.
void progress() noexcept;

/// Set-up of the process, before its first plan: the thread that progresses executions by itself, and
/// the signal that asks for a dump, where the environment wants them (VICINAL_PROGRESS_THREAD=1,
/// VICINAL_DUMP_SIGNAL). A fault where MPI does not allow several threads.
void prepare_process();

/// Something in flight that is no execution of a plan, as describe_pending is to tell it. The function
/// is called under a lock, by any thread, between this object's beginning and its end.
class PendingNote {
 public:
  explicit PendingNote(std::function<void(std::ostream&)> describe);
  PendingNote(const PendingNote&) = delete;
  PendingNote& operator=(const PendingNote&) = delete;
  ~PendingNote();
  void describe(std::ostream& out) const { describe_(out); }

 private:
  std::function<void(std::ostream&)> describe_;
};

/// Writes what every execution in flight waits for, for diagnosing a hang.
void describe_pending(std::ostream& out);

}  // namespace vicinal
