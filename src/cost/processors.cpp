// Ranks of a host are dealt out to its processors in turn, as a scheduler does that has nothing to go by.
#include "cost/processors.hpp"

#include <algorithm>
#include <cmath>
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

Processors::Processors(const Machine& machine, double cores) {
  struct Host {
    int ranks = 0;
    int processors = 0;
    int first = 0;  // processor
    int next = 0;   // rank's place
  };
  std::vector<Host> hosts(static_cast<std::size_t>(machine.hosts()));
  const auto host_of = [&](int rank) -> Host& {
    return hosts[static_cast<std::size_t>(machine.host_of(rank))];
  };
  for (int rank = 0; rank < machine.size(); ++rank) ++host_of(rank).ranks;
  const double whole = std::ceil(cores);
  for (Host& host : hosts) {
    const bool scarce = cores > 0 && cores < host.ranks;
    host.processors = scarce ? static_cast<int>(whole) : host.ranks;
    host.first = static_cast<int>(all_.size());
    all_.resize(all_.size() + static_cast<std::size_t>(host.processors));
    if (!scarce) continue;
    for (int i = 0; i < host.processors; ++i) (*this)[host.first + i].speed = cores / whole;
  }
  for (int rank = 0; rank < machine.size(); ++rank) {
    Host& host = host_of(rank);
    of_rank_.push_back(host.first + host.next++ % host.processors);
    scarce_.push_back(cores > 0 && cores < host.ranks ? 1 : 0);
  }
}

}  // namespace vicinal::detail
