// Who has which processor, and what waits for it.
#pragma once

#include <cstddef>
#include <vector>

#include "cost/cores.hpp"

namespace vicinal::detail {

/// What a processor is to do for an operation, and since when it could.
struct Task {
  double ready = 0;
  int operation = -1;
  friend bool operator>(const Task& a, const Task& b) {
    return a.ready != b.ready ? a.ready > b.ready : a.operation > b.operation;
  }
};

class Processor {
 public:
  int running = -1;   ///< the operation that occupies it, or -1
  int previous = -1;  ///< the one that did before

  /// Tasks are added in the order in which they become ready.
  void add(Task task);
  /// Takes out what became ready first, of that the lowest operation.
  Task take();
  [[nodiscard]] bool has_work() const {
    return running < 0 && (next_ < in_order_.size() || !others_.empty());
  }

 private:
  std::vector<Task> in_order_;  ///< those that came in the order in which they will be taken
  std::size_t next_ = 0;        ///< in `in_order_`
  std::vector<Task> others_;    ///< a heap, the first to be taken on top
};

class Processors {
 public:
  Processors(const Machine& machine, const Profile& profile)
      : dealt_(deal_cores(machine, profile)), all_(dealt_.cores.size()) {}

  [[nodiscard]] int number(int rank) const {
    return dealt_.of_rank[static_cast<std::size_t>(rank)];
  }
  Processor& operator[](int number) { return all_[static_cast<std::size_t>(number)]; }
  [[nodiscard]] double speed(int number) const { return core(number).speed; }
  /// Whether the rank's host has more ranks than cores.
  [[nodiscard]] bool scarce(int rank) const { return core(number(rank)).shared; }

 private:
  [[nodiscard]] const Core& core(int number) const {
    return dealt_.cores[static_cast<std::size_t>(number)];
  }

  DealtCores dealt_;
  std::vector<Processor> all_;
};

}  // namespace vicinal::detail
