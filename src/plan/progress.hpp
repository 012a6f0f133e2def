// Tracks how operations of all ranks enable each other: unfinished predecessors, messages that need
// both ends, flags, and consecutive executions. The driver decides when an operation that may begin
// is complete. The deadlock proof (verify.cpp) completes it at once; the cost model
// (src/cost/price.cpp) uses simulated time. Every message and flag has one writer, so the order in
// which a driver processes ready operations cannot change the outcome.
#pragma once

#include <vector>

#include "memory/pages.hpp"
#include "plan/program.hpp"

namespace vicinal::detail {

class Progress {
 public:
  /// Each rank runs `executions` executions. All flags start at 0, so an await with `lag` 1
  /// succeeds in the first one.
  Progress(const Program& program, int executions);

  /// Operations whose predecessors are all complete, in order of readiness. The driver removes
  /// them.
  std::vector<int> ready;

  [[nodiscard]] const Program& program() const { return program_; }
  /// Number of the rank's current execution, counted from 1.
  [[nodiscard]] int execution(int rank) const { return execution_[rank]; }

  /// Records that one end of a message, a send or a receive, has begun. Returns whether the other
  /// end has begun too, which happens once for each message.
  [[nodiscard]] bool meet(int id) {
    State& own = states_[id];
    State& other = states_[own.counterpart];
    own.begun = !other.begun;
    if (own.begun) return false;
    other.begun = false;
    return true;
  }

  /// Records that an await has begun. Returns whether its flag is already set. Otherwise
  /// for_each_over() visits it later.
  [[nodiscard]] bool await(int id) {
    states_[id].begun = !flag_reached(id);
    return !states_[id].begun;
  }

  /// Sets the flag of a signal to the current execution of its rank. If several executions run,
  /// call it before complete().
  void raise(int signal) { flag_[program_.flag(signal)] = execution_[program_.rank_of[signal]]; }

  /// Calls over(await) for each waiting await of the signal's flag whose value is now reached.
  template <class Over>
  void for_each_over(int signal, Over over) {
    for (const int await : program_.awaits_of[program_.flag(signal)]) {
      if (!states_[await].begun || !flag_reached(await)) continue;
      states_[await].begun = false;
      over(await);
    }
  }

  /// Marks an operation as complete. Adds newly ready operations to `ready`, also those of the
  /// rank's next execution.
  void complete(int id) {
    State& its = states_[id];
    const std::size_t end = states_[id + 1].first_successor;
    for (std::size_t i = its.first_successor; i < end; ++i) {
      if (--states_[successors_[i]].missing == 0) ready.push_back(successors_[i]);
    }
    its.missing = -1;
    if (--left_[its.rank] == 0) begin_execution(its.rank);
  }

  /// Throws an internal fault if operations remain but none can proceed. The fault names a chain of
  /// waiting operations.
  void require_end() const;

 private:
  /// Frequently used state of an operation, in one cache line.
  struct State {
    std::size_t first_successor = 0;  ///< index in `successors_`; ends at the next operation's
    int rank = -1;
    int counterpart = -1;
    int missing = 0;     ///< incomplete predecessors; -1 if the operation is complete
    bool begun = false;  ///< begun, and waiting for another rank
  };

  void list_successors();
  void begin_execution(int rank);
  /// Returns the number of operation `other` of the rank that has operation `id`.
  [[nodiscard]] int index(int id, int other) const {
    return program_.id(program_.rank_of[id], other);
  }
  [[nodiscard]] bool flag_reached(int await) const {
    const int needed = execution_[program_.rank_of[await]] - program_.operation(await).lag;
    return flag_[program_.flag(await)] >= needed;
  }
  [[nodiscard]] int waits_for(int id) const;
  [[noreturn]] void report(int rank) const;

  const Program& program_;
  int executions_;
  std::vector<State, HugePages<State>> states_;  ///< by operation, and one more
  std::vector<int> execution_;                   ///< by rank
  std::vector<int> left_;  ///< by rank: incomplete operations of its execution
  std::vector<int> flag_;
  std::vector<int> successors_;
};

}  // namespace vicinal::detail
