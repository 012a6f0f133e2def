#include "cost/processors.hpp"

#include <algorithm>
#include <functional>

namespace vicinal::detail {

void Processor::add(Task task) {
  // Mostly what becomes ready at one time does in the order of operations, and costs no logarithm.
  if (next_ == in_order_.size() || task > in_order_.back()) {
    in_order_.push_back(task);
  } else {
    others_.push_back(task);
    std::push_heap(others_.begin(), others_.end(), std::greater<>());
  }
}

Task Processor::take() {
  if (next_ == in_order_.size() || (!others_.empty() && in_order_[next_] > others_.front())) {
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

}  // namespace vicinal::detail
