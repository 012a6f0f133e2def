// Ranks of a host are dealt out to its processors in turn, as a scheduler does that has nothing to go by.
#include "cost/processors.hpp"

#include <cmath>
#include <utility>

namespace vicinal::detail {

void Processor::add(Task task) {
  waiting_.push_back(task);
  // Mostly it stays there: what becomes ready at one time mostly does in the order of operations.
  for (std::size_t i = waiting_.size() - 1; i > next_; --i) {
    Task& before = waiting_[i - 1];
    if (before.ready < task.ready || before.operation < task.operation) break;
    std::swap(before, waiting_[i]);
  }
}

Task Processor::take() {
  const Task first = waiting_[next_++];
  if (next_ == waiting_.size()) {
    waiting_.clear();
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
