// Starting, polling and ending an execution.
#include "execute/run.hpp"

#include <algorithm>

#include "memory/kind.hpp"
#include "mpi/backoff.hpp"

namespace vicinal {

void Run::follow_graph() {
  if (graph_ == &bound_.graph()) return;
  const CompiledGraph& graph = bound_.graph();
  const std::size_t nodes = graph.nodes.size();
  for (std::vector<int>* list : {&remaining_, &ready_, &failed_by_}) list->reserve(nodes);
  pending_.reserve(nodes);
  completed_.resize(static_cast<std::size_t>(graph.linked));
  remaining_.resize(nodes);
  failed_by_.assign(nodes, 0);
  any_failed_ = false;
  graph_ = &graph;
}

inline void Run::begin_execution(State state) {
  ++generation_;
  state_ = state;
  fault_.reset();
  linked_active_ = 0;
  unlinked_to_begin_ = graph_->unlinked_later;
  unlinked_over_ = graph_->linked == static_cast<int>(graph_->messages.size());
  unfinished_ = graph_->nodes.size();
  std::copy(graph_->predecessors.begin(), graph_->predecessors.end(), remaining_.begin());
  if (any_failed_) std::fill(failed_by_.begin(), failed_by_.end(), 0);
  any_failed_ = false;
  has_events_ = state == State::executing && bound_.events() != nullptr;
}

void Run::announce() {
  announced_ = true;
  for (OwnedSlot& slot : bound_.owned_slots()) {
    announced_ = slot.announce(generation_) && announced_;
  }
}

void Run::start() {
  begin_execution(State::executing);
  announce();
  linked_active_ = graph_->linked - graph_->linked_later;
  bound_.requests().start_range(static_cast<std::size_t>(graph_->linked_later), graph_->at_once);
  for (const int node : graph_->initial) begin(node);
  run_ready();
  bound_.launch();
}

void Run::start_after_failure() {
  begin_execution(State::failed);
  announced_ = true;
  for (OwnedSlot& slot : bound_.owned_slots()) slot.announce_fault(generation_, graph_->plan.rank);
  for (FarSlot& slot : bound_.far_slots()) slot.close();
  // Messages start at once, so distant ranks need not wait for what this rank still awaits.
  for (const CompiledGraph::Message& message : graph_->messages) {
    const Operation& operation = graph_->operation_of(message);
    if (operation.kind == OperationKind::send) {
      send_nothing(operation);
    } else {
      discards_.emplace_back(bound_.communicator().handle(), operation.peer, bound_.tag(operation));
    }
  }
  for (int i = graph_->linked_later; i < graph_->linked; ++i) complete(graph_->message(i).node);
  for (const int node : graph_->initial) begin(node);
  run_ready();
}

bool Run::poll() {
  // Even if nothing else is left to do: peers need the areas to continue.
  if (!announced_) announce();
  if (!discards_.empty())
    std::erase_if(discards_, [](mpi::DiscardReceive& discard) { return discard.test(); });
  if (unfinished_ > 0) {
    const std::size_t before = unfinished_;
    if (has_events_) take_events();
    poll_pending();
    if (linked_active_ > 0) poll_linked();
    if (unfinished_ != before) bound_.launch();
    if (unfinished_ > 0) return false;
  }
  if (!has_ended_unlinked() || !discards_.empty()) return false;
  state_ = State::idle;
  return true;
}

/// Returns whether peers have found the areas and read the exported source, and no message is left.
bool Run::has_ended_unlinked() {
  if (unlinked_to_begin_ > 0 || !announced_) return false;
  if (state_ == State::executing && !unlinked_over_) unlinked_over_ = poll_unlinked();
  return state_ != State::executing || (unlinked_over_ && bound_.has_back(generation_));
}

bool Run::leave_to(std::uintptr_t stream) {
  if (state_ != State::executing || fault_ || unfinished_ > graph_->last_nodes) return false;
  for (std::size_t node = 0; node < remaining_.size(); ++node) {
    if (remaining_[node] != done && !graph_->last[node]) return false;
  }
  if (!has_ended_unlinked() || fault_) return false;  // messages may have caused one
  const auto borrows = [&](const Pending& it) { return bound_.borrows(graph_->node(it.node)); };
  if (std::any_of(pending_.begin(), pending_.end(), borrows)) return false;
  return std::all_of(pending_.begin(), pending_.end(), [&](const Pending& it) {
    return bound_.job(graph_->node(it.node)).have_stream_await(stream);
  });
}

void Run::take_events() {
  Events* const events = bound_.events();
  if (events == nullptr || state_ != State::executing) return;
  for (int event = events->next(); event >= 0; event = events->next()) {
    const int node = graph_->triggers[static_cast<std::size_t>(event)];
    try {
      events->prepare(event);
    } catch (...) {
      note(current_fault());
      mark_failed(node, graph_->plan.rank);
    }
    complete(node);
    run_ready();
  }
}

void Run::poll_pending() {
  for (std::size_t i = 0; i < pending_.size();) {
    const auto [node, flag, generation] = pending_[i];
    if ((flag == nullptr || flag->reached(generation)) && is_over(node)) {
      pending_[i] = pending_.back();
      pending_.pop_back();
      complete(node);
      run_ready();
    } else {
      ++i;
    }
  }
}

void Run::poll_linked() {
  mpi::RequestSet& requests = bound_.requests();
  const int count = requests.test_some(0, graph_->linked, completed_.data());
  for (int i = 0; i < count; ++i) {
    --linked_active_;
    const CompiledGraph::Message& message =
        graph_->message(completed_[static_cast<std::size_t>(i)]);
    const Operation& operation = graph_->operation_of(message);
    if (operation.kind == OperationKind::receive) {
      const int origin = check_arrival(operation, requests.received(static_cast<std::size_t>(i)));
      if (origin >= 0) mark_failed(message.node, origin);
    }
    complete(message.node);
    run_ready();
  }
}

bool Run::poll_unlinked() {
  mpi::RequestSet& requests = bound_.requests();
  const int unlinked = static_cast<int>(graph_->messages.size()) - graph_->linked;
  if (!requests.test_all(static_cast<std::size_t>(graph_->linked), unlinked)) return false;
  if (requests.as_remembered()) return true;
  bool all_as_due = true;
  for (const auto& [message, count] : graph_->unlinked_receives) {
    const std::int64_t bytes =
        requests.received(static_cast<std::size_t>(message - graph_->linked));
    if (bytes == count * bound_.element_bytes()) continue;
    all_as_due = false;
    check_arrival(graph_->operation_of(graph_->message(message)), bytes);
  }
  if (all_as_due) requests.remember();
  return true;
}

void Run::run_ready() {
  while (!ready_.empty()) {
    const int node = ready_.back();
    ready_.pop_back();
    begin(node);
  }
}

void Run::begin(int number) {
  switch (graph_->node(number).kind) {
    case OperationKind::copy:
    case OperationKind::reduce: return begin_job(number);
    case OperationKind::send:
    case OperationKind::receive: return begin_message(number);
    case OperationKind::signal: return signal(number);
    case OperationKind::notify: return notify(number);
    case OperationKind::trigger:
      if (state_ == State::failed) complete(number);
      return;
    case OperationKind::await:
      if (is_satisfied(number)) {
        complete(number);
      } else {
        const Node& node = graph_->node(number);
        pending_.push_back({number, &bound_.flag(node), generation_ - node.lag});
      }
      return;
  }
}

void Run::begin_job(int number) {
  const Node& node = graph_->node(number);
  if (const int origin = culprit(number); origin >= 0) {
    note_missing(graph_->operation_of(node).to, origin);
  } else {
    try {
      if (!bound_.begin(node)) {
        pending_.push_back({number});
        return;
      }
    } catch (...) {
      // The user's operator may be invalid for the user's datatype.
      fail(number);
    }
  }
  complete(number);
}

void Run::begin_message(int number) {
  const Node& node = graph_->node(number);
  const bool linked = node.step < graph_->linked;
  if (!linked) --unlinked_to_begin_;
  if (state_ == State::failed) {
    complete(number);
  } else if (node.kind == OperationKind::send && culprit(number) >= 0) {
    send_nothing(graph_->operation_of(graph_->message(node.step)));
    complete(number);
  } else {
    bound_.requests().start(static_cast<std::size_t>(node.step));
    if (linked) {
      ++linked_active_;
    } else {
      --unfinished_;
    }
  }
}

void Run::signal(int number) {
  Flag& flag = bound_.flag(graph_->node(number));
  if (const int origin = culprit(number); origin >= 0) {
    flag.signal_fault(generation_, bound_.element_bytes(), origin);
  } else {
    flag.signal(generation_, bound_.element_bytes(), bound_.area(graph_->node(number)));
  }
  complete(number);
}

void Run::notify(int number) {
  if (culprit(number) < 0) {
    try {
      bound_.events()->tell(graph_->node(number).step);
    } catch (...) {
      note(current_fault());
    }
  }
  complete(number);
}

void Run::complete(int number) {
  const Node& node = graph_->node(number);
  --unfinished_;
  remaining_[static_cast<std::size_t>(number)] = done;
  const int failed_by = any_failed_ ? failed_by_[static_cast<std::size_t>(number)] : 0;
  for (int i = node.first_successor; i < node.last_successor; ++i) {
    const int next = graph_->successors[static_cast<std::size_t>(i)];
    if (failed_by > 0 && graph_->node(next).kind != OperationKind::receive) {
      failed_by_[static_cast<std::size_t>(next)] = failed_by;
    }
    if (--remaining_[static_cast<std::size_t>(next)] == 0) ready_.push_back(next);
  }
}

}  // namespace vicinal
