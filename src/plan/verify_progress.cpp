// Deadlock freedom. Sends are taken to complete only together with their receives, the strictest
// reading that MPI allows: what ends here also ends where messages are buffered. Three executions
// run, because the second is the first that awaits acknowledgements, and the third shows that the
// second left the flags as it found them.
#include <algorithm>
#include <sstream>
#include <utility>

#include "base/error.hpp"
#include "plan/verify.hpp"

namespace vicinal::detail {

namespace {

constexpr int executions = 3;

class Run {
 public:
  explicit Run(const Program& program)
      : program_(program),
        missing_(program.operations()),
        begun_(program.operations()),
        execution_(program.ranks(), 0),
        left_(program.ranks(), 0),
        flag_(program.signal_of.size(), 0) {
    list_successors();
    order_.reserve(program.operations());
  }

  std::vector<int> to_the_end() {
    for (int rank = 0; rank < program_.ranks(); ++rank) begin_execution(rank);
    while (!ready_.empty()) {
      const int id = ready_.back();
      ready_.pop_back();
      begin(id);
    }
    for (int rank = 0; rank < program_.ranks(); ++rank) {
      if (left_[rank] > 0) report(rank);
    }
    return std::move(order_);
  }

 private:
  void list_successors() {
    first_successor_.assign(program_.operations() + 1, 0);
    for (int id = 0; id < program_.operations(); ++id) {
      for (const int before : program_.operation(id).after)
        ++first_successor_[index(id, before) + 1];
    }
    for (int id = 0; id < program_.operations(); ++id) {
      first_successor_[id + 1] += first_successor_[id];
    }
    successors_.resize(first_successor_.back());
    std::vector<std::size_t> next(first_successor_.begin(), first_successor_.end() - 1);
    for (int id = 0; id < program_.operations(); ++id) {
      for (const int before : program_.operation(id).after) {
        successors_[next[index(id, before)]++] = id;
      }
    }
  }

  /// The number of operation `other` of the rank that has operation `id`.
  [[nodiscard]] int index(int id, int other) const {
    return program_.id(program_.rank_of[id], other);
  }

  void begin_execution(int rank) {
    const int first = program_.first_operation[rank];
    const int end = program_.first_operation[rank + 1];
    if (first == end || execution_[rank] == executions) return;
    ++execution_[rank];
    left_[rank] = end - first;
    for (int id = first; id < end; ++id) {
      begun_[id] = 0;
      missing_[id] = static_cast<int>(program_.operation(id).after.size());
      if (missing_[id] == 0) ready_.push_back(id);
    }
  }

  [[nodiscard]] bool flag_reached(int await) const {
    const int needed = execution_[program_.rank_of[await]] - program_.operation(await).lag;
    return flag_[program_.flag(await)] >= needed;
  }

  void begin(int id) {
    begun_[id] = 1;
    switch (program_.operation(id).kind) {
      case OperationKind::copy:
      case OperationKind::reduce:
      case OperationKind::trigger:  // whoever brings the event about waits for nothing of the plans
      case OperationKind::notify: complete(id); break;
      case OperationKind::send:
      case OperationKind::receive: {
        const int other = program_.counterpart[id];
        if (!begun_[other]) break;
        const bool sends = program_.operation(id).kind == OperationKind::send;
        begun_[id] = begun_[other] = 0;
        complete(sends ? id : other);
        complete(sends ? other : id);
        break;
      }
      case OperationKind::signal: {
        const int flag = program_.flag(id);
        flag_[flag] = execution_[program_.rank_of[id]];
        complete(id);
        for (const int await : program_.awaits_of[flag]) {
          if (begun_[await] && flag_reached(await)) complete_await(await);
        }
        break;
      }
      case OperationKind::await:
        if (flag_reached(id)) complete_await(id);
        break;
    }
  }

  void complete_await(int id) {
    begun_[id] = 0;
    complete(id);
  }

  void complete(int id) {
    const int rank = program_.rank_of[id];
    if (execution_[rank] == 1) order_.push_back(id);
    for (auto i = first_successor_[id]; i < first_successor_[id + 1]; ++i) {
      if (--missing_[successors_[i]] == 0) ready_.push_back(successors_[i]);
    }
    missing_[id] = -1;
    if (--left_[rank] == 0) begin_execution(rank);
  }

  /// Whom an incomplete operation waits for: another incomplete operation.
  [[nodiscard]] int waits_for(int id) const {
    for (const int before : program_.operation(id).after) {
      if (missing_[index(id, before)] >= 0) return index(id, before);
    }
    const int other = program_.counterpart[id];
    const int rank = program_.rank_of[other];
    const bool ahead = execution_[rank] >= execution_[program_.rank_of[id]];
    if (ahead && missing_[other] >= 0) return other;
    for (int i = program_.first_operation[rank]; i < program_.first_operation[rank + 1]; ++i) {
      if (missing_[i] >= 0) return i;
    }
    return other;
  }

  [[noreturn]] void report(int rank) const {
    constexpr std::size_t longest = 12;
    int id = program_.first_operation[rank];
    while (missing_[id] < 0) ++id;
    std::ostringstream text;
    text << "deadlock in execution " << execution_[rank] << ": " << program_.describe(id);
    std::vector<int> chain{id};
    while (chain.size() < longest) {
      id = waits_for(id);
      text << " waits for " << program_.describe(id);
      if (std::find(chain.begin(), chain.end(), id) != chain.end()) break;
      chain.push_back(id);
    }
    fail(Fault::internal, text.str());
  }

  const Program& program_;
  std::vector<int>
      missing_;              ///< by operation: predecessors that are not complete; -1: it is itself
  std::vector<char> begun_;  ///< by operation: it has begun and waits for another rank
  std::vector<int> execution_;
  std::vector<int> left_;  ///< by rank: incomplete operations of its execution
  std::vector<int> flag_;
  std::vector<std::size_t> first_successor_;
  std::vector<int> successors_;
  std::vector<int> ready_;
  std::vector<int> order_;
};

}  // namespace

std::vector<int> run_to_the_end(const Program& program) { return Run(program).to_the_end(); }

}  // namespace vicinal::detail
