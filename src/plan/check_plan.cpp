// Checks that need only one rank's plan. They run first, so code that looks at all plans can index
// without checks.
#include "base/error.hpp"
#include "plan/program.hpp"

namespace vicinal {

namespace {

class PlanCheck {
 public:
  PlanCheck(const Plan& plan, int size, bool reverse)
      : plan_(plan), size_(size), reverse_(reverse) {}

  void run() {
    check_buffers();
    for (index_ = 0; index_ < static_cast<int>(plan_.operations.size()); ++index_) {
      check_operation(plan_.operations[index_]);
    }
  }

 private:
  template <class... Parts>
  [[noreturn]] void wrong(const Parts&... parts) const {
    fail(Fault::internal, describe(plan_, index_), " ", parts...);
  }

  void check_buffers() const {
    const auto& buffers = plan_.buffers;
    const int rank = plan_.rank;
    require(buffers.size() >= 2 && buffers[Plan::source].space == Space::source &&
                buffers[Plan::target].space == Space::target,
            Fault::internal, "rank ", rank,
            ": buffers 0 and 1 must be the user's source and target");
    for (std::size_t i = 0; i < buffers.size(); ++i) {
      const Buffer& buffer = buffers[i];
      require(buffer.extent >= 0, Fault::internal, "rank ", rank, ": buffer ", i,
              " has the negative extent ", buffer.extent);
      const bool users = buffer.space == Space::source || buffer.space == Space::target;
      require(i < 2 || !users, Fault::internal, "rank ", rank, ": buffer ", i, " is a second ",
              name(buffer.space), " buffer");
      if (buffer.space != Space::shared) continue;
      require(buffer.owner >= 0 && buffer.owner < size_, Fault::internal, "rank ", rank,
              ": buffer ", i, " is a slot of rank ", buffer.owner, ", but the ranks are 0 to ",
              size_ - 1);
      require((buffer.owner == rank) == (buffer.peer_index == -1) && buffer.peer_index >= -1,
              Fault::internal, "rank ", rank, ": buffer ", i, " is a slot of rank ", buffer.owner,
              " with peer index ", buffer.peer_index, "; -1 stands for the owner, and only for it");
    }
  }

  const Buffer& buffer(int which) const {
    if (which < 0 || which >= static_cast<int>(plan_.buffers.size())) {
      wrong("names buffer ", which, ", but there are ", plan_.buffers.size());
    }
    return plan_.buffers[which];
  }

  void check_range(const char* verb, int which, Index first, Index count) const {
    const Index extent = buffer(which).extent;
    if (first >= 0 && count >= 0 && count <= extent && first <= extent - count) return;
    wrong(verb, " elements ", first, " to ", first + count - 1, " of buffer ", which,
          ", out of bounds: its extent is ", extent);
  }

  void check_written(int which) const {
    if (buffer(which).space == Space::source) wrong("writes to the user's source buffer");
  }

  void check_moves(const Operation& it) const {
    check_written(it.to);
    if (it.kind == OperationKind::reduce && !reverse_) {
      wrong("reduces, but a forward plan only moves items");
    }
    for (const CopyRun& run : it.runs) {
      check_range("reads", it.from, run.source, run.count);
      check_range("writes", it.to, run.target, run.count);
    }
  }

  void check_rank(int rank) const {
    if (rank >= 0 && rank < size_) return;
    wrong("names rank ", rank, ", but the ranks are 0 to ", size_ - 1);
  }

  void check_message(const Operation& it, const char* verb, int which) const {
    check_rank(it.peer);
    if (it.peer == plan_.rank) wrong("is a message to its own rank; that must be a copy");
    if (it.tag < 0) wrong("has no tag");
    check_range(verb, which, it.offset, it.count);
  }

  void check_operation(const Operation& it) const {
    for (const int before : it.after) {
      if (before < 0 || before >= index_) {
        wrong("comes after operation ", before, ", which does not stand before it in the plan");
      }
    }
    switch (it.kind) {
      case OperationKind::copy:
      case OperationKind::reduce: check_moves(it); break;
      case OperationKind::send: check_message(it, "reads", it.from); break;
      case OperationKind::receive:
        check_written(it.to);
        check_message(it, "writes", it.to);
        break;
      case OperationKind::signal:
      case OperationKind::await: {
        const Buffer& slot = buffer(it.from);
        if (slot.space != Space::shared)
          wrong("names buffer ", it.from, ", which is no shared slot");
        if (it.kind == OperationKind::signal && it.flag != slot.peer_index) {
          wrong("sets flag ", it.flag, ", but this rank's flag of that slot is ", slot.peer_index);
        }
        if (it.lag < 0) wrong("has the negative lag ", it.lag);
        break;
      }
      case OperationKind::trigger:
      case OperationKind::notify:
        if (it.event < 0) wrong("names no event");
        if (it.kind == OperationKind::trigger && !it.after.empty()) {
          wrong("comes after operation ", it.after.front(), ", but it happens outside of the plan");
        }
        check_rank(it.peer);
        break;
    }
  }

  const Plan& plan_;
  int size_;
  bool reverse_;
  int index_ = 0;
};

}  // namespace

std::string describe(const Plan& plan, int index) {
  const Operation& it = plan.operations[index];
  return "rank " + std::to_string(plan.rank) + ", operation " + std::to_string(index) + " (" +
         name(it.kind) + ", " + name(it.phase) + ")";
}

void check_plan(const Plan& plan, int rank, int size, bool reverse) {
  require(plan.rank == rank && plan.size == size, Fault::internal, "the plan of rank ", rank,
          " of ", size, " says that it is for rank ", plan.rank, " of ", plan.size);
  require(plan.reverse == reverse, Fault::internal, "rank ", rank, " has a ",
          plan.reverse ? "reverse" : "forward", " plan, but rank 0 has not");
  PlanCheck(plan, size, reverse).run();
}

}  // namespace vicinal
