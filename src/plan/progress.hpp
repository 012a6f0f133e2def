// How the operations of all ranks make each other possible: what is left to wait for before each may begin,
// messages that need both of their ends, flags, executions one after the other. Who drives it decides when an
// operation that may begin is complete: the proof that plans end at once (verify_progress.cpp), the price
// when its clock says so (src/cost/price.cpp). Every message and flag has one writer, so it makes no
// difference to what can happen in which order a driver goes through what is ready.
#pragma once

#include <vector>

#include "memory/huge_pages.hpp"
#include "plan/program.hpp"

namespace vicinal::detail {

class Progress {
 public:
  /// Each rank goes through that many executions. The flags are those of an execution before the first, so what
  /// awaits flags "one execution back" finds them in the first one.
  Progress(const Program& program, int executions);

  /// Operations whose predecessors are all complete, in the order in which they became so. Drivers take them out.
  std::vector<int> ready;

  [[nodiscard]] const Program& program() const { return program_; }
  /// In which a rank is, counted from 1.
  [[nodiscard]] int execution(int rank) const { return execution_[rank]; }

  /// One end of a message is there, a send or a receive. True where the other one has been, which happens
  /// once for each message.
  [[nodiscard]] bool meet(int id) {
    State& own = states_[id];
    State& other = states_[own.counterpart];
    own.begun = !other.begun;
    if (own.begun) return false;
    other.begun = false;
    return true;
  }

  /// An await has begun. True where its flag is there already; else `raise` will name it.
  [[nodiscard]] bool await(int id) {
    states_[id].begun = !flag_reached(id);
    return !states_[id].begun;
  }

  /// Sets the flag of a signal, of the execution in which its rank is; `complete` may follow or precede.
  void raise(int signal) { flag_[program_.flag(signal)] = execution_[program_.rank_of[signal]]; }

  /// Calls over(await) for each of those that wait for the flag of a signal and find it now.
  template <class Over>
  void for_each_over(int signal, Over over) {
    for (const int await : program_.awaits_of[program_.flag(signal)]) {
      if (!states_[await].begun || !flag_reached(await)) continue;
      states_[await].begun = false;
      over(await);
    }
  }

  /// Adds what may begin now to `ready`, which may be operations of the rank's next execution.
  void complete(int id) {
    State& its = states_[id];
    const std::size_t end = states_[id + 1].first_successor;
    for (std::size_t i = its.first_successor; i < end; ++i) {
      if (--states_[successors_[i]].missing == 0) ready.push_back(successors_[i]);
    }
    its.missing = -1;
    if (--left_[its.rank] == 0) begin_execution(its.rank);
  }

  /// Throws where operations are left over although nothing is under way: an internal fault that names a chain of
  /// what waits for what.
  void require_end() const;

 private:
  /// Of an operation, what is asked of it again and again, in one line of memory.
  struct State {
    std::size_t first_successor = 0;  ///< in `successors_`; the next operation's is the end
    int rank = -1;
    int counterpart = -1;
    int missing = 0;     ///< predecessors that are not complete; -1: it is itself
    bool begun = false;  ///< it has begun and waits for another rank
  };

  void list_successors();
  void begin_execution(int rank);
  /// The number of operation `other` of the rank that has operation `id`.
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
