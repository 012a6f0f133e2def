// What happens between start and completion of an execution. Counters say how many operations an
// operation still waits for; whatever reaches zero is begun at once.
//
// `start` and `poll` allocate nothing, search nothing, and make no MPI call that set-up could have made.
#pragma once

#include <cstddef>
#include <cstdint>
#include <iosfwd>
#include <optional>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "execute/bound_plan.hpp"
#include "mpi/messages.hpp"

namespace vicinal {

class Run {
 public:
  /// Follows the graph that is chosen there.
  explicit Run(BoundPlan& bound) : bound_(bound) { follow_graph(); }
  Run(const Run&) = delete;
  Run& operator=(const Run&) = delete;

  /// To be called where another graph has been chosen. Not while an execution is in flight.
  void follow_graph();

  /// Begins an execution. Never waits for another rank.
  void start();
  /// Begins one in which this rank takes part for the others' sake only: see Channel. Needs no binding.
  void start_at_fault();
  /// Does what can be done now; true once the execution is complete.
  bool poll();
  /// Where nothing is left but what comes last (CompiledGraph::last), all of it is on a device, and
  /// nobody waits to have back what of it is borrowed: has what is put on a stream from now on come after it. Whether that is so. Of an execution whose
  /// poll() was false.
  bool leave_to(std::uintptr_t stream);
  /// Begins what waits for events that have happened.
  void take_events();
  [[nodiscard]] bool in_flight() const { return state_ != State::idle; }
  [[nodiscard]] bool at_fault() const { return state_ == State::at_fault; }
  /// How many have been begun: the same on all ranks.
  [[nodiscard]] std::int64_t executions() const { return generation_; }
  /// Whether the next poll calls MPI.
  [[nodiscard]] bool tests_messages() const {
    return linked_active_ > 0 || !strays_.empty() || (unfinished_ == 0 && !unlinked_over_);
  }
  /// Why the last execution has not brought all that was due; empty where it has.
  [[nodiscard]] const std::optional<Error>& fault() const { return fault_; }
  /// Leaves an execution that will never be complete: nothing is written to the user's memory from now
  /// on. It stays in flight, since messages into the plan's own memory may still arrive.
  void abandon() noexcept;
  /// Whether other ranks may depend on this rank's polling.
  [[nodiscard]] bool relays() const { return !graph_->nodes.empty(); }

  /// Writes what the execution still waits for, one line each.
  void describe_pending(std::ostream& out) const;
  /// Goes on with a sentence: " from ranks 3 5", whom it waits for as far as it knows.
  void name_awaited(std::ostream& out) const;

 private:
  enum class State : std::uint8_t { idle, executing, at_fault };
  using Node = CompiledGraph::Node;

  void begin_execution(State state);
  void announce();
  void begin(int node);
  void begin_job(int node);
  void begin_message(int node);
  void signal(int node);
  void notify(int node);
  void send_nothing(const Operation& operation);
  void complete(int node);
  void run_ready();

  void poll_pending();
  void poll_linked();
  [[nodiscard]] bool poll_unlinked();
  [[nodiscard]] bool has_ended_unlinked();
  /// Whether nothing is left but that peers read what this rank lends.
  [[nodiscard]] bool awaits_readers() const {
    return state_ == State::executing && announced_ && unlinked_over_ &&
           !bound_.has_back(generation_);
  }

  [[nodiscard]] bool is_over(int node);
  [[nodiscard]] bool is_satisfied(int await);
  /// Whether it is known where the data lie that an await is for, or that they do not come.
  [[nodiscard]] bool is_found(FarSlot& slot, int node);

  /// Whose fault it is that an operation has nothing to hand on, or -1.
  [[nodiscard]] int culprit(int node) const {
    return at_fault() ? graph_->plan.rank : failed_by_[static_cast<std::size_t>(node)] - 1;
  }
  /// What the operation was to deliver, and all that depends on it, is missing.
  void mark_failed(int node, int origin);
  /// The rank whose message says why a receive has not brought what was due, or -1.
  int check_arrival(const Operation& operation, std::int64_t bytes);
  /// The operation has thrown what is being caught.
  void fail(int node);
  void note(const Error& fault) {
    if (!fault_) fault_ = fault;
  }
  void note_missing(int buffer, int origin);
  /// What of outside events has not happened, in words; "" for nothing.
  [[nodiscard]] std::string missing_event() const;
  [[nodiscard]] bool awaits_message(std::size_t index) const;

  BoundPlan& bound_;
  const CompiledGraph* graph_ = nullptr;
  State state_ = State::idle;
  bool announced_ = true;        ///< where this rank's slots lie in this execution
  std::int64_t generation_ = 0;  ///< of the last execution begun
  std::optional<Error> fault_;

  static constexpr int done = -1;
  std::vector<int> remaining_;  ///< by node: predecessors still missing, or that it is done
  std::vector<int> ready_;      ///< a stack
  /// An await or a job that is begun and not over.
  struct Pending {
    int node = 0;
    const Flag* flag =
        nullptr;  ///< of an await; before it has reached this number nothing has changed
    std::int64_t generation = 0;
  };
  std::vector<Pending> pending_;
  bool has_events_ = false;
  std::size_t unfinished_ = 0;  ///< nodes
  std::vector<int>
      failed_by_;  ///< by node: 1 + the rank whose fault it is that its data are missing
  bool any_failed_ = false;

  int linked_active_ = 0;
  int unlinked_to_begin_ = 0;
  bool unlinked_over_ = false;
  std::vector<int> completed_;      ///< room for what a test finds
  std::vector<mpi::Stray> strays_;  ///< what comes for an execution at fault
};

}  // namespace vicinal
