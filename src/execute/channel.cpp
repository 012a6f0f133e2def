// The run side: what happens between start and completion. Counters say how many operations an
// operation still waits for; whatever reaches zero is begun at once.
#include "execute/channel.hpp"

#include <algorithm>
#include <sstream>
#include <string>

namespace vicinal {

void Channel::begin_execution() {
  ++generation_;
  in_flight_ = true;
  fault_.reset();
  linked_active_ = 0;
  unlinked_to_begin_ = unlinked_later_;
  unfinished_ = operations_.size();
  std::copy(remaining_at_start_.begin(), remaining_at_start_.end(), remaining_.begin());
  if (any_failed_) std::fill(failed_by_.begin(), failed_by_.end(), 0);
  any_failed_ = false;
}

void Channel::start() {
  at_fault_ = false;
  begin_execution();
  announced_ = true;
  for (OwnedSlot& slot : owned_) announced_ = slot.announce(generation_) && announced_;
  linked_active_ = linked_ - linked_later_;
  requests_.start_range(static_cast<std::size_t>(linked_later_), at_once_);
  for (const int node : initial_) begin(node);
  run_ready();
}

void Channel::start_at_fault() {
  at_fault_ = true;
  begin_execution();
  announced_ = true;
  for (OwnedSlot& slot : owned_) slot.announce_fault(generation_, plan_->rank);
  for (FarSlot& slot : far_) slot.forget();
  // Messages wait for nothing, so that nobody far away waits for what this rank still has to hear of.
  for (int request = 0; request < static_cast<int>(message_table_.size()); ++request) {
    const Operation& operation = operation_of(request);
    if (operation.kind == OperationKind::send) {
      send_nothing(operation);
    } else {
      strays_.emplace_back(communicator_->handle(), operation.peer, data_tag(operation));
    }
  }
  for (int request = linked_later_; request < linked_; ++request) {
    complete(message_table_[static_cast<std::size_t>(request)].node);
  }
  for (const int node : initial_) begin(node);
  run_ready();
}

bool Channel::poll() {
  // Also when nothing else is left to do: peers cannot go on before they have found the areas.
  if (!announced_) {
    announced_ = true;
    for (OwnedSlot& slot : owned_) announced_ = slot.announce(generation_) && announced_;
  }
  std::erase_if(strays_, [](mpi::Stray& stray) { return stray.test(); });
  if (unfinished_ > 0) {
    for (std::size_t i = 0; i < awaits_.size();) {
      const int node = awaits_[i];
      if (is_satisfied(node)) {
        awaits_[i] = awaits_.back();
        awaits_.pop_back();
        complete(node);
        run_ready();
      } else {
        ++i;
      }
    }
    if (linked_active_ > 0) poll_linked();
    if (unfinished_ > 0) return false;
  }
  if (unlinked_to_begin_ > 0 || !announced_ || !strays_.empty()) return false;
  if (!at_fault_ && !poll_unlinked()) return false;
  in_flight_ = false;
  return true;
}

void Channel::poll_linked() {
  const int count = requests_.test_some(0, linked_, completed_.data());
  for (int i = 0; i < count; ++i) {
    --linked_active_;
    const int request = completed_[static_cast<std::size_t>(i)];
    const int node = message_table_[static_cast<std::size_t>(request)].node;
    if (operation_of(request).kind == OperationKind::receive) {
      const int origin = check_arrival(request, requests_.received(static_cast<std::size_t>(i)));
      if (origin >= 0) mark_failed(node, origin);
    }
    complete(node);
    run_ready();
  }
}

bool Channel::poll_unlinked() {
  const int unlinked = static_cast<int>(message_table_.size()) - linked_;
  if (!requests_.test_all(static_cast<std::size_t>(linked_), unlinked)) return false;
  if (requests_.as_remembered()) return true;
  bool all_as_due = true;
  for (const auto& [request, count] : unlinked_receives_) {
    const std::int64_t bytes = requests_.received(static_cast<std::size_t>(request - linked_));
    if (bytes == count * binding_.element_bytes) continue;
    all_as_due = false;
    check_arrival(request, bytes);
  }
  if (all_as_due) requests_.remember();
  return true;
}

int Channel::check_arrival(int request, std::int64_t bytes) {
  const Operation& operation = operation_of(request);
  const std::int64_t expected = operation.count * binding_.element_bytes;
  if (bytes == expected) return -1;
  if (bytes == 0) {
    note_missing(operation.to, operation.peer);
  } else {
    std::ostringstream text;
    text << "rank " << operation.peer << " has sent ";
    if (bytes < 0) {
      text << "more than the " << expected << " bytes that were expected";
    } else {
      text << bytes << " bytes where " << expected << " were expected";
    }
    note(Error(Fault::count, text.str() + "; all ranks must use the same element size"));
  }
  return operation.peer;
}

void Channel::abandon() {
  for (std::size_t i = 0; i < message_table_.size(); ++i) {
    const auto number = static_cast<std::size_t>(message_table_[i].plan_operation);
    const Operation& operation = plan_->operations[number];
    const bool receives = operation.kind == OperationKind::receive;
    if (receives && operation.to == Plan::target) requests_.cancel_receive(i);
  }
}

void Channel::run_ready() {
  while (!ready_.empty()) {
    const int node = ready_.back();
    ready_.pop_back();
    begin(node);
  }
}

void Channel::begin(int number) {
  const Node& node = operations_[static_cast<std::size_t>(number)];
  switch (node.kind) {
    case OperationKind::copy: {
      const Copy& copy = copies_[static_cast<std::size_t>(node.step)];
      if (const int origin = culprit(number); origin >= 0) {
        note_missing(copy.to, origin);
      } else {
        run(copy.runs, address(copy.from), address(copy.to));
      }
      complete(number);
      break;
    }
    case OperationKind::reduce: {
      const Reduction& reduction = reductions_[static_cast<std::size_t>(node.step)];
      if (const int origin = culprit(number); origin >= 0) {
        note_missing(reduction.to, origin);
      } else {
        try {
          reduction.runs.run(address(reduction.from), address(reduction.to));
        } catch (...) {
          // The user's operator may not be one for the user's datatype.
          note(current_fault());
          mark_failed(number, plan_->rank);
        }
      }
      complete(number);
      break;
    }
    case OperationKind::send:
    case OperationKind::receive: begin_message(number); break;
    case OperationKind::signal:
      if (const int origin = culprit(number); origin >= 0) {
        flag_of(node).signal_fault(generation_, binding_.element_bytes, origin);
      } else {
        flag_of(node).signal(generation_, binding_.element_bytes);
      }
      complete(number);
      break;
    case OperationKind::await:
      if (is_satisfied(number)) {
        complete(number);
      } else {
        awaits_.push_back(number);
      }
      break;
  }
}

void Channel::begin_message(int number) {
  const Node& node = operations_[static_cast<std::size_t>(number)];
  const bool linked = node.step < linked_;
  if (!linked) --unlinked_to_begin_;
  if (at_fault_) {
    complete(number);
  } else if (node.kind == OperationKind::send && culprit(number) >= 0) {
    send_nothing(operation_of(node.step));
    complete(number);
  } else {
    requests_.start(static_cast<std::size_t>(node.step));
    if (linked) {
      ++linked_active_;
    } else {
      --unfinished_;
    }
  }
}

void Channel::send_nothing(const Operation& operation) {
  // MPI finishes it by itself.
  static_cast<void>(mpi::isend(communicator_->handle(), {}, operation.peer, data_tag(operation)));
}

bool Channel::is_satisfied(int number) {
  const Node& node = operations_[static_cast<std::size_t>(number)];
  const Flag& flag = flag_of(node);
  if (!flag.reached(generation_ - node.lag)) return false;
  if (at_fault_) return true;
  FarSlot* const slot =
      is_far(node.buffer)
          ? &far_[static_cast<std::size_t>(slot_of_[static_cast<std::size_t>(node.buffer)])]
          : nullptr;
  // The size as well: whose slot it is has another area then, well or not.
  const bool differs = flag.element_bytes != 0 && flag.element_bytes != binding_.element_bytes;
  if (differs && slot != nullptr) slot->forget();
  if (node.lag == 0) {
    int origin = flag.at_fault == generation_ ? static_cast<int>(flag.origin) : -1;
    if (origin < 0 && differs) {
      note(size_fault(binding_.element_bytes, flag.element_bytes));
      origin = plan_->rank;
    }
    if (origin >= 0) {
      mark_failed(number, origin);
      return true;
    }
  }
  if (slot == nullptr) return true;
  try {
    if (slot->find(generation_) != nullptr) return true;
  } catch (const Error& error) {
    note(error);
    mark_failed(number, plan_->rank);
    return true;
  }
  const int origin = slot->fault(generation_);
  if (origin >= 0) mark_failed(number, origin);
  return origin >= 0;
}

int Channel::culprit(int number) const {
  return at_fault_ ? plan_->rank : failed_by_[static_cast<std::size_t>(number)] - 1;
}

void Channel::mark_failed(int number, int origin) {
  failed_by_[static_cast<std::size_t>(number)] = origin + 1;
  any_failed_ = true;
}

void Channel::note_missing(int buffer, int origin) {
  if (buffer != Plan::target || at_fault_) return;
  note(Error(Fault::elsewhere, "the exchange failed on rank " + std::to_string(origin) +
                                   ", or that rank gave a count of 0; the message on that rank, or "
                                   "on one that it names, says more"));
}

void Channel::complete(int number) {
  const Node& node = operations_[static_cast<std::size_t>(number)];
  --unfinished_;
  const int failed_by = any_failed_ ? failed_by_[static_cast<std::size_t>(number)] : 0;
  for (int i = node.first_successor; i < node.last_successor; ++i) {
    const int next = successors_[static_cast<std::size_t>(i)];
    if (failed_by > 0 &&
        operations_[static_cast<std::size_t>(next)].kind != OperationKind::receive) {
      failed_by_[static_cast<std::size_t>(next)] = failed_by;
    }
    if (--remaining_[static_cast<std::size_t>(next)] == 0) ready_.push_back(next);
  }
}

std::byte* Channel::address(int buffer) const {
  const auto i = static_cast<std::size_t>(buffer);
  const auto slot = static_cast<std::size_t>(slot_of_[i]);
  const Buffer& description = plan_->buffers[i];
  switch (description.space) {
    // A plan never writes to its source; the copy kernels take one pointer type for both sides.
    case Space::source: return const_cast<std::byte*>(binding_.source);
    case Space::target: return binding_.target;
    case Space::staging: return const_cast<std::byte*>(staging_[slot].data());
    case Space::shared: break;
  }
  return is_far(buffer) ? far_[slot].data() : owned_[slot].data();
}

Flag& Channel::flag_of(const Node& node) {
  const auto slot = static_cast<std::size_t>(slot_of_[static_cast<std::size_t>(node.buffer)]);
  return is_far(node.buffer) ? far_[slot].flag(node.flag) : owned_[slot].flag(node.flag);
}

}  // namespace vicinal
