// The run side: what happens between start and completion. Counters say how many operations an
// operation still waits for; whatever reaches zero is begun at once.
#include "execute/channel.hpp"

#include <algorithm>

namespace vicinal {

void Channel::start() {
  ++generation_;
  in_flight_ = true;
  linked_active_ = linked_ - linked_later_;
  unlinked_to_begin_ = unlinked_later_;
  unfinished_ = operations_.size();
  std::copy(remaining_at_start_.begin(), remaining_at_start_.end(), remaining_.begin());
  requests_.start_range(static_cast<std::size_t>(linked_later_), at_once_);
  for (const int node : initial_) begin(node);
  run_ready();
}

bool Channel::poll() {
  // Also when nothing else is left to do: peers cannot go on before they have found the areas.
  if (!announced_) {
    announced_ = true;
    for (OwnedSlot& slot : owned_) announced_ = slot.announce() && announced_;
  }
  if (unfinished_ > 0) {
    for (std::size_t i = 0; i < awaits_.size();) {
      const Node& node = operations_[static_cast<std::size_t>(awaits_[i])];
      const auto* flag = flag_of(node);
      if (flag != nullptr && flag->load(std::memory_order_acquire) >= generation_ - node.lag) {
        const int satisfied = awaits_[i];
        awaits_[i] = awaits_.back();
        awaits_.pop_back();
        complete(satisfied);
        run_ready();
      } else {
        ++i;
      }
    }
    if (linked_active_ > 0) {
      const int count = requests_.test_some(0, linked_, completed_.data());
      for (int i = 0; i < count; ++i) {
        --linked_active_;
        complete(
            request_table_[static_cast<std::size_t>(completed_[static_cast<std::size_t>(i)])].node);
        run_ready();
      }
    }
    if (unfinished_ > 0) return false;
  }
  if (unlinked_to_begin_ > 0 || !announced_) return false;
  const int unlinked = static_cast<int>(request_table_.size()) - linked_;
  if (!requests_.test_all(static_cast<std::size_t>(linked_), unlinked)) return false;
  in_flight_ = false;
  return true;
}

void Channel::abandon() {
  for (std::size_t i = 0; i < request_table_.size(); ++i) {
    const auto number = static_cast<std::size_t>(request_table_[i].plan_operation);
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
      run(copy.runs, address(copy.from), address(copy.to));
      complete(number);
      break;
    }
    case OperationKind::reduce: {
      const Reduction& reduction = reductions_[static_cast<std::size_t>(node.step)];
      reduction.runs.run(address(reduction.from), address(reduction.to));
      complete(number);
      break;
    }
    case OperationKind::send:
    case OperationKind::receive:
      requests_.start(static_cast<std::size_t>(node.step));
      if (node.step < linked_) {
        ++linked_active_;
      } else {
        --unlinked_to_begin_;
        --unfinished_;
      }
      break;
    case OperationKind::signal:
      flag_of(node)->store(generation_, std::memory_order_release);
      complete(number);
      break;
    case OperationKind::await: {
      const auto* flag = flag_of(node);
      if (flag != nullptr && flag->load(std::memory_order_acquire) >= generation_ - node.lag) {
        complete(number);
      } else {
        awaits_.push_back(number);
      }
      break;
    }
  }
}

void Channel::complete(int number) {
  const Node& node = operations_[static_cast<std::size_t>(number)];
  --unfinished_;
  for (int i = node.first_successor; i < node.last_successor; ++i) {
    const int next = successors_[static_cast<std::size_t>(i)];
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
  return description.peer_index < 0 ? owned_[slot].area().data() : far_[slot].area().data();
}

std::atomic<std::int64_t>* Channel::flag_of(const Node& node) {
  const auto i = static_cast<std::size_t>(node.buffer);
  const auto slot = static_cast<std::size_t>(slot_of_[i]);
  if (plan_->buffers[i].peer_index < 0) return &owned_[slot].area().flag(node.flag);
  if (!far_[slot].area().known() && !far_[slot].resolve()) return nullptr;
  return &far_[slot].area().flag(node.flag);
}

}  // namespace vicinal
