// Successors in one list over all ranks, so that completing an operation touches few lines of memory; and the
// report about plans that do not end, which looks for its chain only when it is needed.
#include "plan/progress.hpp"

#include <algorithm>
#include <sstream>

#include "base/error.hpp"

namespace vicinal::detail {

Progress::Progress(const Program& program, int executions)
    : program_(program),
      executions_(executions),
      missing_(program.operations()),
      begun_(program.operations()),
      execution_(program.ranks(), 0),
      left_(program.ranks(), 0),
      flag_(program.signal_of.size(), 0) {
  list_successors();
  for (int rank = 0; rank < program_.ranks(); ++rank) begin_execution(rank);
}

void Progress::list_successors() {
  first_successor_.assign(program_.operations() + 1, 0);
  for (int id = 0; id < program_.operations(); ++id) {
    for (const int before : program_.operation(id).after) ++first_successor_[index(id, before) + 1];
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

void Progress::begin_execution(int rank) {
  const int first = program_.first_operation[rank];
  const int end = program_.first_operation[rank + 1];
  if (first == end || execution_[rank] == executions_) return;
  ++execution_[rank];
  left_[rank] = end - first;
  for (int id = first; id < end; ++id) {
    begun_[id] = 0;
    missing_[id] = static_cast<int>(program_.operation(id).after.size());
    if (missing_[id] == 0) ready.push_back(id);
  }
}

void Progress::require_end() const {
  for (int rank = 0; rank < program_.ranks(); ++rank) {
    if (left_[rank] > 0) report(rank);
  }
}

/// Whom an incomplete operation waits for: another incomplete operation.
int Progress::waits_for(int id) const {
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

void Progress::report(int rank) const {
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

}  // namespace vicinal::detail
