// The proof that a set of plans is correct. Planners may use complex algorithms, because this proof
// checks their plans against the pattern alone. verify_sharing.cpp and verify_values.cpp have the
// longest parts of it.
//
// run_to_the_end() shows deadlock freedom. Sends complete only together with their receives, the
// strictest behavior that MPI allows. A program that ends here also ends if messages are buffered.
// Three executions run: the second is the first that awaits acknowledgements, and the third shows
// that the second left the flags unchanged.
//
// verify_partitions() proves that no partition is read before it is ready, and that none is
// reported before it is written. Both orders lie within one rank, so its own `after` must show
// them.
#include "plan/verify.hpp"

#include <algorithm>
#include <utility>
#include <vector>

#include "base/error.hpp"
#include "plan/checks.hpp"
#include "plan/partitions.hpp"
#include "plan/progress.hpp"

namespace vicinal::detail {

namespace {

constexpr int executions = 3;

/// Runs every operation as soon as it may begin.
class Run {
 public:
  explicit Run(const Program& program) : program_(program), progress_(program, executions) {
    order_.reserve(program.operations());
  }

  std::vector<int> to_the_end() {
    while (!progress_.ready.empty()) {
      const int id = progress_.ready.back();
      progress_.ready.pop_back();
      begin(id);
    }
    progress_.require_end();
    return std::move(order_);
  }

 private:
  void begin(int id) {
    switch (program_.operation(id).kind) {
      case OperationKind::copy:
      case OperationKind::reduce:
      // An outside event depends on no operation of the plans.
      case OperationKind::trigger:
      case OperationKind::notify: complete(id); break;
      case OperationKind::send: meet(id, id, program_.counterpart[id]); break;
      case OperationKind::receive: meet(id, program_.counterpart[id], id); break;
      case OperationKind::signal:
        progress_.raise(id);
        complete(id);
        progress_.for_each_over(id, [this](int await) { complete(await); });
        break;
      case OperationKind::await:
        if (progress_.await(id)) complete(id);
        break;
    }
  }

  void meet(int id, int send, int receive) {
    if (!progress_.meet(id)) return;
    complete(send);
    complete(receive);
  }

  void complete(int id) {
    if (progress_.execution(program_.rank_of[id]) == 1) order_.push_back(id);
    progress_.complete(id);
  }

  const Program& program_;
  Progress progress_;
  std::vector<int> order_;
};

}  // namespace

std::vector<int> run_to_the_end(const Program& program) { return Run(program).to_the_end(); }

namespace {

/// The partitions of one rank.
class Partitions {
 public:
  Partitions(const Program& program, int rank, const Pattern& pattern)
      : program_(program),
        rank_(rank),
        first_(program.first_operation[rank]),
        plan_(program.plans[rank]),
        triggers_(of_events(OperationKind::trigger, trigger_peers(pattern))),
        notifications_(of_events(OperationKind::notify, notify_peers(pattern))),
        sent_(sent_stretches(pattern)),
        received_(received_stretches(pattern)),
        seen_(plan_.operations.size(), 0) {}

  void verify() {
    for (int number = 0; number < static_cast<int>(plan_.operations.size()); ++number) {
      const Operation& it = plan_.operations[number];
      if (it.from == Plan::source && !sent_.empty()) verify_reader(number);
    }
    std::vector<std::vector<int>> writers = writers_of_events();
    for (std::size_t event = 0; event < notifications_.size(); ++event) {
      visit_what_precedes(notifications_[event]);
      for (const int writer : writers[event]) {
        if (seen_[writer] == walk_) continue;
        fail(Fault::internal, describe(notifications_[event]), " does not come after ",
             describe(writer), ", which writes slots of partition ", event,
             " of those that this rank receives");
      }
    }
  }

 private:
  /// Returns the operation of each event. Throws unless each event has exactly one operation of
  /// this kind and peer.
  std::vector<int> of_events(OperationKind kind, const std::vector<int>& peers) const {
    std::vector<int> found(peers.size(), -1);
    for (int number = 0; number < static_cast<int>(plan_.operations.size()); ++number) {
      const Operation& it = plan_.operations[number];
      if (it.kind != kind) continue;
      if (it.event >= static_cast<int>(peers.size())) {
        fail(Fault::internal, describe(number), " names event ", it.event, ", but the pattern has ",
             peers.size(), " partitions there");
      }
      if (found[it.event] >= 0) {
        fail(Fault::internal, describe(number), " names event ", it.event, ", and so does ",
             describe(found[it.event]));
      }
      if (it.peer != peers[it.event]) {
        fail(Fault::internal, describe(number), " names rank ", it.peer, ", but event ", it.event,
             " is a partition of an edge with rank ", peers[it.event]);
      }
      found[it.event] = number;
    }
    const auto missing = std::find(found.begin(), found.end(), -1);
    require(missing == found.end(), Fault::internal, "rank ", rank_, " has no operation of kind ",
            name(kind), " for event ", missing - found.begin());
    return found;
  }

  void verify_reader(int number) {
    const Operation& it = plan_.operations[number];
    bool walked = false;
    const auto read = [&](Index first, Index count) {
      for (const Stretch& stretch : meeting(sent_, first, count)) {
        if (!walked) visit_what_precedes(number);
        walked = true;
        const int trigger = triggers_[stretch.event];
        if (seen_[trigger] == walk_) continue;
        fail(Fault::internal, describe(number), " reads element ", std::max(first, stretch.first),
             " of the source, but does not come after ", describe(trigger),
             ", before which that is not ready");
      }
    };
    if (it.kind == OperationKind::send) read(it.offset, it.count);
    for (const CopyRun& run : it.runs) read(run.source, run.count);
  }

  /// Returns, for each event, the operations that write its slots.
  std::vector<std::vector<int>> writers_of_events() const {
    std::vector<std::vector<int>> writers(notifications_.size());
    for (int number = 0; number < static_cast<int>(plan_.operations.size()); ++number) {
      const Operation& it = plan_.operations[number];
      if (it.to != Plan::target) continue;
      const auto write = [&](Index first, Index count) {
        for (const Stretch& stretch : meeting(received_, first, count)) {
          writers[stretch.event].push_back(number);
        }
      };
      if (it.kind == OperationKind::receive) write(it.offset, it.count);
      for (const CopyRun& run : it.runs) write(run.target, run.count);
    }
    return writers;
  }

  /// Returns the stretches that overlap `count` elements from `first` on. The stretches are sorted.
  /// Stretches of the source may overlap each other, so the search starts at the first one.
  static std::vector<Stretch> meeting(const std::vector<Stretch>& stretches, Index first,
                                      Index count) {
    std::vector<Stretch> found;
    for (const Stretch& it : stretches) {
      if (it.first >= first + count) break;
      if (first < it.first + it.count) found.push_back(it);
    }
    return found;
  }

  void visit_what_precedes(int number) {
    ++walk_;
    stack_.assign(1, number);
    while (!stack_.empty()) {
      const int it = stack_.back();
      stack_.pop_back();
      for (const int before : plan_.operations[it].after) {
        if (std::exchange(seen_[before], walk_) != walk_) stack_.push_back(before);
      }
    }
  }

  [[nodiscard]] std::string describe(int number) const {
    return program_.describe(first_ + number);
  }

  const Program& program_;
  int rank_;
  int first_;
  const Plan& plan_;
  std::vector<int> triggers_;       ///< by event
  std::vector<int> notifications_;  ///< by event
  std::vector<Stretch> sent_;
  std::vector<Stretch> received_;
  std::vector<int> seen_;  ///< by operation: the last walk that visited it
  int walk_ = 0;
  std::vector<int> stack_;
};

}  // namespace

void verify_partitions(const Program& program, std::span<const Pattern> patterns) {
  for (int rank = 0; rank < program.ranks(); ++rank) {
    Partitions(program, rank, patterns[rank]).verify();
  }
}

}  // namespace vicinal::detail

namespace vicinal {

void verify(std::span<const Plan> plans, std::span<const Pattern> patterns) {
  require(plans.size() == patterns.size(), Fault::internal, "there are ", plans.size(),
          " plans, but ", patterns.size(), " patterns");
  const Program program(plans);
  const detail::Demand demand(program, patterns);
  const std::vector<int> order = detail::run_to_the_end(program);
  detail::verify_sharing(program, order);
  detail::verify_partitions(program, patterns);
  if (program.reverse) {
    detail::verify_reverse(program, demand, order);
  } else {
    detail::verify_forward(program, demand, order);
  }
}

}  // namespace vicinal
