// Stores the successors of all ranks in one list, so that completing an operation touches few cache
// lines. The deadlock report searches for its chain only when it is needed.
#include "plan/progress.hpp"

#include <algorithm>
#include <sstream>

#include "base/error.hpp"

namespace vicinal::detail {

Progress::Progress(const Program& program, int executions)
    : program_(program),
      executions_(executions),
      states_(program.operations() + 1),
      execution_(program.ranks(), 0),
      left_(program.ranks(), 0),
      flag_(program.signal_of.size(), 0) {
  list_successors();
  for (int rank = 0; rank < program_.ranks(); ++rank) begin_execution(rank);
}

void Progress::list_successors() {
  for (int id = 0; id < program_.operations(); ++id) {
    states_[id].rank = program_.rank_of[id];
    states_[id].counterpart = program_.counterpart[id];
    for (const int before : program_.operation(id).after)
      ++states_[index(id, before)].first_successor;
  }
  // Turns counts into end positions. Filling the list backwards then turns these into start
  // positions.
  std::size_t end = 0;
  for (State& it : states_) it.first_successor = end += it.first_successor;
  successors_.resize(end);
  for (int id = program_.operations() - 1; id >= 0; --id) {
    for (const int before : program_.operation(id).after) {
      successors_[--states_[index(id, before)].first_successor] = id;
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
    states_[id].begun = false;
    states_[id].missing = static_cast<int>(program_.operation(id).after.size());
    if (states_[id].missing == 0) ready.push_back(id);
  }
}

void Progress::require_end() const {
  for (int rank = 0; rank < program_.ranks(); ++rank) {
    if (left_[rank] > 0) report(rank);
  }
}

/// Returns an incomplete operation for which an incomplete operation waits.
int Progress::waits_for(int id) const {
  for (const int before : program_.operation(id).after) {
    if (states_[index(id, before)].missing >= 0) return index(id, before);
  }
  const int other = program_.counterpart[id];
  const int rank = program_.rank_of[other];
  const bool ahead = execution_[rank] >= execution_[program_.rank_of[id]];
  if (ahead && states_[other].missing >= 0) return other;
  for (int i = program_.first_operation[rank]; i < program_.first_operation[rank + 1]; ++i) {
    if (states_[i].missing >= 0) return i;
  }
  return other;
}

void Progress::report(int rank) const {
  constexpr std::size_t longest = 12;
  int id = program_.first_operation[rank];
  while (states_[id].missing < 0) ++id;
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
