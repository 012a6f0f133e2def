// The run of an execution, from start to completion. A counter per operation holds the number of
// operations that it still waits for. An operation begins as soon as its counter reaches zero.
//
// `start` and `poll` allocate nothing, search nothing, and make no MPI call that set-up could have
// made.
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
  /// Follows the graph that `bound` has chosen.
  explicit Run(BoundPlan& bound) : bound_(bound) { follow_graph(); }
  Run(const Run&) = delete;
  Run& operator=(const Run&) = delete;

  /// Call this after another graph was chosen. Not while an execution is in flight.
  void follow_graph();

  /// Begins an execution. Never waits for another rank.
  void start();
  /// Begins an execution after a failure of the caller, so that other ranks can complete; see
  /// Channel. Needs no binding.
  void start_after_failure();
  /// Does what can be done now; returns true once the execution is complete.
  bool poll();
  /// Makes later work on the stream wait for the rest of the execution, and returns whether it did.
  /// Only final operations (CompiledGraph::last) may be left, all on a device, none reading memory
  /// that another rank exports. Call only after poll() has returned false.
  bool leave_to(std::uintptr_t stream);
  /// Begins operations whose events have happened.
  void take_events();
  [[nodiscard]] bool in_flight() const { return state_ != State::idle; }
  [[nodiscard]] bool failed() const { return state_ == State::failed; }
  /// The plan in the form that the buffers need.
  [[nodiscard]] const Plan& program() const { return graph_->plan; }
  /// Number of executions begun; equal on all ranks.
  [[nodiscard]] std::int64_t executions() const { return generation_; }
  /// Returns whether the next poll calls MPI.
  [[nodiscard]] bool tests_messages() const {
    return linked_active_ > 0 || !discards_.empty() || (unfinished_ == 0 && !unlinked_over_);
  }
  /// The reason why the last execution has not delivered all data; empty if it has.
  [[nodiscard]] const std::optional<Error>& fault() const { return fault_; }
  /// Abandons an execution that can never complete: nothing writes to the user's memory from now
  /// on. It stays in flight, since messages into the plan's own memory may still arrive.
  void abandon() noexcept;
  /// Returns whether other ranks may depend on this rank's polling.
  [[nodiscard]] bool relays() const { return !graph_->nodes.empty(); }

  /// Writes the operations that the execution waits for, one per line.
  void describe_pending(std::ostream& out) const;
  /// Continues a sentence with the awaited ranks, if known: ", with ranks 3 5".
  void name_awaited(std::ostream& out) const;

 private:
  enum class State : std::uint8_t { idle, executing, failed };
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
  /// Returns whether only peers that read this rank's exported source are left.
  [[nodiscard]] bool awaits_readers() const {
    return state_ == State::executing && announced_ && unlinked_over_ &&
           !bound_.has_back(generation_);
  }

  [[nodiscard]] bool is_over(int node);
  [[nodiscard]] bool is_satisfied(int await);
  /// Returns whether the location of the awaited data is known, or it is known that none come.
  [[nodiscard]] bool is_found(FarSlot& slot, int node);

  /// Returns the rank whose fault leaves the operation without data, or -1.
  [[nodiscard]] int culprit(int node) const {
    return failed() ? graph_->plan.rank : failed_by_[static_cast<std::size_t>(node)] - 1;
  }
  /// Marks the data of the operation, and of all operations after it, as missing.
  void mark_failed(int node, int origin);
  /// Returns the rank whose error message explains an incomplete receive, or -1 if it is complete.
  int check_arrival(const Operation& operation, std::int64_t bytes);
  /// Records the exception being handled as the operation's failure.
  void fail(int node);
  void note(const Error& fault) {
    if (!fault_) fault_ = fault;
  }
  void note_missing(int buffer, int origin);
  /// Describes the outside events that have not happened; "" if all have.
  [[nodiscard]] std::string missing_event() const;
  [[nodiscard]] bool awaits_message(std::size_t index) const;

  BoundPlan& bound_;
  const CompiledGraph* graph_ = nullptr;
  State state_ = State::idle;
  bool announced_ = true;        ///< locations of this rank's slots in this execution
  std::int64_t generation_ = 0;  ///< the last execution begun
  std::optional<Error> fault_;

  static constexpr int done = -1;
  std::vector<int> remaining_;  ///< by node: missing predecessors, or `done`
  std::vector<int> ready_;      ///< a stack
  /// An await or a job in progress.
  struct Pending {
    int node = 0;
    /// Of an await; null for a job. Nothing has changed until the flag reaches `generation`.
    const Flag* flag = nullptr;
    std::int64_t generation = 0;
  };
  std::vector<Pending> pending_;
  bool has_events_ = false;
  std::size_t unfinished_ = 0;  ///< nodes
  /// By node: 1 + the rank whose fault leaves it without data.
  std::vector<int> failed_by_;
  bool any_failed_ = false;

  int linked_active_ = 0;
  int unlinked_to_begin_ = 0;
  bool unlinked_over_ = false;
  std::vector<int> completed_;                 ///< buffer for test results
  std::vector<mpi::DiscardReceive> discards_;  ///< incoming messages of a failed execution
};

}  // namespace vicinal
