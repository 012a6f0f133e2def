#include "cost/processors.hpp"

#include <algorithm>
#include <functional>

namespace vicinal::detail {

void ReadyTasks::add(Task task) {
  // Tasks that become ready at one time mostly come in the order of operations, and then cost no
  // logarithm.
  if (next_ == in_order_.size() || task > in_order_.back()) {
    in_order_.push_back(task);
  } else {
    others_.push_back(task);
    std::push_heap(others_.begin(), others_.end(), std::greater<>());
  }
}

Task ReadyTasks::take() {
  if (others_first()) {
    const Task first = others_.front();
    std::pop_heap(others_.begin(), others_.end(), std::greater<>());
    others_.pop_back();
    return first;
  }
  const Task first = in_order_[next_++];
  if (next_ == in_order_.size()) {
    in_order_.clear();
    next_ = 0;
  }
  return first;
}

Processor::Turn Processor::take() {
  --tasks_;
  const std::size_t before = current_;
  if (ready_[current_].empty()) {
    const auto earlier = [](const ReadyTasks& a, const ReadyTasks& b) {
      return !a.empty() && (b.empty() || b.first() > a.first());
    };
    const auto next = std::min_element(ready_.begin(), ready_.end(), earlier);
    current_ = static_cast<std::size_t>(next - ready_.begin());
  }
  return {ready_[current_].take(), current_ != before};
}

}  // namespace vicinal::detail
