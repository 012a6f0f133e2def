// Detecting faults in a run, passing them on, and describing the run's state.
#include <exception>
#include <ostream>
#include <set>
#include <sstream>
#include <string>

#include "execute/run.hpp"

namespace vicinal {

bool Run::is_over(int number) {
  const Node& node = graph_->node(number);
  if (node.kind == OperationKind::await) return is_satisfied(number);
  try {
    return bound_.job(node).poll();
  } catch (...) {
    fail(number);
    return true;
  }
}

bool Run::is_satisfied(int number) {
  const Node& node = graph_->node(number);
  const Flag& flag = bound_.flag(node);
  if (!flag.reached(generation_ - node.lag)) return false;
  if (state_ == State::failed) return true;
  FarSlot* const slot = bound_.far_slot(node.buffer);
  // With another element size, the owner has another area, even if its execution failed.
  const bool differs = flag.element_bytes != 0 && flag.element_bytes != bound_.element_bytes();
  if (differs && slot != nullptr) slot->forget();
  // Even after a failure: the owner releases a replaced area once all flags have reached this
  // execution.
  if (slot != nullptr && node.lag == 0 && node.flag < 0) slot->forget_unless(flag.area);
  if (node.lag == 0) {
    int origin = flag.failed == generation_ ? static_cast<int>(flag.origin) : -1;
    if (origin < 0 && differs) {
      note(size_fault(bound_.element_bytes(), flag.element_bytes));
      origin = graph_->plan.rank;
    }
    if (origin >= 0) {
      mark_failed(number, origin);
      return true;
    }
  }
  return slot == nullptr || is_found(*slot, number);
}

bool Run::is_found(FarSlot& slot, int number) {
  try {
    if (bound_.find(graph_->node(number).buffer, generation_)) return true;
  } catch (...) {
    fail(number);
    return true;
  }
  const int origin = slot.fault(generation_);
  if (origin >= 0) mark_failed(number, origin);
  return origin >= 0;
}

void Run::send_nothing(const Operation& operation) {
  // MPI completes it without further calls.
  static_cast<void>(
      mpi::isend(bound_.communicator().handle(), {}, operation.peer, bound_.tag(operation)));
}

int Run::check_arrival(const Operation& operation, std::int64_t bytes) {
  const std::int64_t expected = operation.count * bound_.element_bytes();
  if (bytes == expected) return -1;
  if (bytes == 0) {
    note_missing(operation.to, operation.peer);
    return operation.peer;
  }
  std::ostringstream text;
  text << "rank " << operation.peer << " has sent ";
  if (bytes < 0) {
    text << "more than the " << expected << " bytes that were expected";
  } else {
    text << bytes << " bytes where " << expected << " were expected";
  }
  note(Error(Fault::count, text.str() + "; all ranks must use the same element size"));
  return graph_->plan.rank;  // the rank whose error message explains the fault
}

void Run::mark_failed(int number, int origin) {
  failed_by_[static_cast<std::size_t>(number)] = origin + 1;
  any_failed_ = true;
}

void Run::fail(int number) {
  note(current_fault());
  mark_failed(number, graph_->plan.rank);
}

void Run::note_missing(int buffer, int origin) {
  if (buffer != Plan::target || state_ == State::failed) return;
  note(Error(Fault::elsewhere, "the exchange failed on rank " + std::to_string(origin) +
                                   ", or that rank gave a count of 0; the message on that rank, or "
                                   "on one that it names, says more"));
}

void Run::abandon() noexcept {
  // If one step fails, the others are still done.
  const auto try_to = [](auto step) {
    try {
      step();
    } catch (const std::exception&) {
    }
  };
  for (std::size_t i = 0; i < graph_->messages.size(); ++i) {
    const Operation& operation = graph_->operation_of(graph_->messages[i]);
    const bool receives = operation.kind == OperationKind::receive;
    if (receives && operation.to == Plan::target) {
      try_to([&] { bound_.requests().cancel_receive(i); });
    }
  }
  for (const Pending& it : pending_) {
    const Node& node = graph_->node(it.node);
    if (node.kind != OperationKind::await) bound_.job(node).drop();
  }
  bound_.leave_far_slots();
}

std::string Run::missing_event() const {
  if (state_ != State::executing || bound_.events() == nullptr) return {};
  std::ostringstream text;
  bound_.events()->describe_missing(text);
  return text.str();
}

/// Returns whether a message is in progress, as far as messages are tested now.
bool Run::awaits_message(std::size_t index) const {
  if (state_ == State::failed) return false;
  const auto linked = static_cast<std::size_t>(graph_->linked);
  if (index < linked) {
    const int node = graph_->messages[index].node;
    return remaining_[static_cast<std::size_t>(node)] == 0;
  }
  if (unfinished_ > 0 || unlinked_to_begin_ > 0) return false;
  const int unlinked = static_cast<int>(graph_->messages.size() - linked);
  return !bound_.requests().test_early(linked, unlinked, index);
}

void Run::name_awaited(std::ostream& out) const {
  if (const std::string missing = missing_event(); !missing.empty()) {
    out << ", in which " << missing;
    return;
  }
  std::set<int> ranks;
  bool jobs = false;
  const auto add = [&](const Operation& operation) {
    if (operation.kind == OperationKind::await || is_message(operation.kind)) {
      if (operation.peer >= 0) ranks.insert(operation.peer);
    } else {
      jobs = true;
    }
  };
  for (const Pending& it : pending_) add(graph_->operation_of(graph_->node(it.node)));
  if (pending_.empty() || linked_active_ > 0) {
    for (std::size_t i = 0; i < graph_->messages.size(); ++i) {
      if (awaits_message(i)) add(graph_->operation_of(graph_->messages[i]));
    }
  }
  if (jobs) out << ", in which this rank moves data to or from the user's memory";
  if (ranks.empty() && jobs) return;
  if (ranks.empty()) {
    out << (awaits_readers() ? ", in which this rank's host mates read what it lends them"
                             : ", in which this rank's host mates hand over their share");
    return;
  }
  out << (ranks.size() > 1 ? ", with ranks" : ", with rank");
  for (const int rank : ranks) out << ' ' << rank;
}

void Run::describe_pending(std::ostream& out) const {
  const auto line = [&](int plan_operation) {
    const Operation& operation = graph_->plan.operations[static_cast<std::size_t>(plan_operation)];
    out << "  operation " << plan_operation << ": " << name(operation.kind) << " ("
        << name(operation.phase) << ")";
    if (is_message(operation.kind)) {
      out << (operation.kind == OperationKind::send ? " to rank " : " from rank ") << operation.peer
          << ", " << operation.count << " elements";
    }
    if (operation.kind == OperationKind::await) {
      const Buffer& buffer = graph_->buffer(operation.from);
      out << " flag " << operation.flag << " of rank " << buffer.owner << "'s slot " << buffer.slot;
      if (operation.peer >= 0) out << ", which rank " << operation.peer << " sets";
    }
    out << "\n";
  };
  if (const std::string missing = missing_event(); !missing.empty()) out << "  " << missing << "\n";
  for (const Pending& it : pending_) line(graph_->node(it.node).plan_operation);
  for (const mpi::DiscardReceive& discard : discards_)
    out << "  a message from rank " << discard.source() << "\n";
  if (awaits_readers()) out << "  host mates that read what this rank lends them\n";
  if (state_ == State::failed || awaits_readers() || (linked_active_ == 0 && unfinished_ > 0))
    return;
  for (const CompiledGraph::Message& message : graph_->messages) line(message.plan_operation);
}

}  // namespace vicinal
