// The cores of a host with fewer cores than ranks, and their assignment to ranks. For the price,
// they are the processors of all ranks, with the tasks that wait for them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "cost/profile.hpp"
#include "locality/machine.hpp"

namespace vicinal {

/// Returns the number of cores that the ranks of a host share; 0 if each rank has its own. The
/// profile's number holds for every host; without one, the machine's does. LogGP has no cores.
[[nodiscard]] inline double shared_cores(const Machine& machine, int host, const Profile& profile) {
  if (profile.gap) return 0;
  const double cores = profile.cores > 0 ? profile.cores : machine.cores_on(host);
  return cores < machine.ranks_on(host) ? cores : 0;
}

/// Returns whether ranks of any host share cores.
[[nodiscard]] inline bool shares_cores(const Machine& machine, const Profile& profile) {
  for (int host = 0; host < machine.hosts(); ++host) {
    if (shared_cores(machine, host, profile) > 0) return true;
  }
  return false;
}

struct Core {
  double speed = 1;     ///< relative to a full core
  bool shared = false;  ///< by several ranks, or with another host
};

struct DealtCores {
  std::vector<Core> cores;
  std::vector<int> of_rank;  ///< index of each rank's core
};

/// Assigns a core to each rank. If the ranks of a host share fewer cores, assigns them round-robin,
/// like a scheduler without further information. A fraction of a core counts as one more core, and
/// slows all cores of the host.
[[nodiscard]] DealtCores deal_cores(const Machine& machine, const Profile& profile);

}  // namespace vicinal

namespace vicinal::detail {

/// Work of a processor for an operation, and the time since when it is ready.
struct Task {
  double ready = 0;
  int operation = -1;
  friend bool operator>(const Task& a, const Task& b) {
    return a.ready != b.ready ? a.ready > b.ready : a.operation > b.operation;
  }
};

/// The ready tasks of a rank.
class ReadyTasks {
 public:
  /// Adds a task. Tasks must be added in the order in which they become ready.
  void add(Task task);
  /// Returns the task that became ready first, of several the lowest operation.
  [[nodiscard]] Task first() const { return others_first() ? others_.front() : in_order_[next_]; }
  Task take();
  [[nodiscard]] bool empty() const { return next_ == in_order_.size() && others_.empty(); }

 private:
  [[nodiscard]] bool others_first() const {
    return next_ == in_order_.size() || (!others_.empty() && in_order_[next_] > others_.front());
  }

  std::vector<Task> in_order_;  ///< tasks that came in the order of taking
  std::size_t next_ = 0;        ///< in `in_order_`
  std::vector<Task> others_;    ///< a heap, the first to be taken on top
};

/// The processor of one rank, or of several: a rank keeps it while any of its tasks is ready.
class Processor {
 public:
  int running = -1;   ///< the operation that occupies it, or -1
  int previous = -1;  ///< the operation before, or -1

  /// Adds a rank; returns its index on this processor.
  int join() {
    ready_.emplace_back();
    return static_cast<int>(ready_.size()) - 1;
  }
  void add(int member, Task task) {
    ready_[static_cast<std::size_t>(member)].add(task);
    ++tasks_;
  }
  struct Taken {
    Task task;
    bool has_changed = false;  ///< another rank has taken over
  };
  /// Call only if has_work().
  Taken take();
  [[nodiscard]] bool has_work() const { return running < 0 && tasks_ > 0; }

 private:
  std::vector<ReadyTasks> ready_;  ///< by member
  std::size_t current_ = 0;        ///< the member that has it
  std::int64_t tasks_ = 0;         ///< of all members
};

class Processors {
 public:
  Processors(const Machine& machine, const Profile& profile)
      : dealt_(deal_cores(machine, profile)), all_(dealt_.cores.size()) {
    for (const int number : dealt_.of_rank) {
      member_.push_back(all_[static_cast<std::size_t>(number)].join());
    }
  }

  [[nodiscard]] int number(int rank) const {
    return dealt_.of_rank[static_cast<std::size_t>(rank)];
  }
  void add(int rank, Task task) {
    (*this)[number(rank)].add(member_[static_cast<std::size_t>(rank)], task);
  }
  Processor& operator[](int number) { return all_[static_cast<std::size_t>(number)]; }
  [[nodiscard]] double speed(int number) const { return core(number).speed; }
  /// Returns whether the rank's host has more ranks than cores.
  [[nodiscard]] bool scarce(int rank) const { return core(number(rank)).shared; }

 private:
  [[nodiscard]] const Core& core(int number) const {
    return dealt_.cores[static_cast<std::size_t>(number)];
  }

  DealtCores dealt_;
  std::vector<int> member_;  ///< by rank, on its processor
  std::vector<Processor> all_;
};

}  // namespace vicinal::detail
