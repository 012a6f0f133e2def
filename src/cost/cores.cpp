#include "cost/cores.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <functional>

namespace vicinal {

DealtCores deal_cores(const Machine& machine, const Profile& profile) {
  struct Host {
    int cores = 0;
    int first = 0;  // core
    int next = 0;   // position of the next rank
  };
  DealtCores dealt;
  std::vector<Host> hosts;
  for (int host = 0; host < machine.hosts(); ++host) {
    const double shared = shared_cores(machine, host, profile);
    const double whole = shared > 0 ? std::ceil(shared) : machine.ranks_on(host);
    hosts.push_back({static_cast<int>(whole), static_cast<int>(dealt.cores.size())});
    dealt.cores.resize(dealt.cores.size() + static_cast<std::size_t>(whole),
                       shared > 0 ? Core{shared / whole, true} : Core{});
  }
  for (int rank = 0; rank < machine.size(); ++rank) {
    Host& host = hosts[static_cast<std::size_t>(machine.host_of(rank))];
    dealt.of_rank.push_back(host.first + host.next++ % host.cores);
  }
  return dealt;
}

}  // namespace vicinal

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

Processor::Taken Processor::take() {
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
