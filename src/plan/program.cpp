// Resolves the names by which plans refer to each other, with a sort and a merge for each kind of
// name. This stays cheap for thousands of virtual ranks. The checks that need only one rank's plan
// run first, so code that looks at all plans can index without checks.
#include "plan/program.hpp"

#include <algorithm>
#include <limits>
#include <numeric>
#include <tuple>

#include "base/error.hpp"

namespace vicinal {

namespace {

struct Mapping {  // one rank's view of a slot
  int owner;
  std::int64_t slot;
  int peer_index;
  int rank;
  int buffer;
  auto key() const { return std::tuple(owner, slot, peer_index, rank, buffer); }
};

struct End {  // one end of a message
  int sender;
  int receiver;
  std::int64_t tag;
  int operation;
  auto key() const { return std::tuple(sender, receiver, tag); }
};

/// Sorts message ends by sender first. With thousands of ranks and messages, the ends of one sender
/// fit into a cache.
template <class Less>
void sort_by_sender(std::vector<End>& ends, int ranks, Less less) {
  std::vector<std::size_t> first(static_cast<std::size_t>(ranks) + 1, 0);
  for (const End& end : ends) ++first[static_cast<std::size_t>(end.sender) + 1];
  std::partial_sum(first.begin(), first.end(), first.begin());
  std::vector<std::size_t> next(first.begin(), first.end() - 1);
  std::vector<End> sorted(ends.size());
  for (const End& end : ends) sorted[next[static_cast<std::size_t>(end.sender)]++] = end;
  for (std::size_t rank = 0; rank + 1 < first.size(); ++rank) {
    std::sort(sorted.data() + first[rank], sorted.data() + first[rank + 1], less);
  }
  ends.swap(sorted);
}

}  // namespace

Program::Program(std::span<const Plan> all_plans) : plans(all_plans) {
  reverse = !plans.empty() && plans.front().reverse;
  for (int rank = 0; rank < ranks(); ++rank) check_plan(plans[rank], rank, ranks(), reverse);
  number();
  join_slots();
  join_messages();
  join_flags();
}

void Program::number() {
  std::size_t operations = 0;
  std::size_t buffers = 0;
  for (const Plan& plan : plans) {
    first_operation.push_back(static_cast<int>(operations));
    first_buffer_.push_back(static_cast<int>(buffers));
    operations += plan.operations.size();
    buffers += plan.buffers.size();
    rank_of.resize(operations, plan.rank);
  }
  constexpr auto most = static_cast<std::size_t>(std::numeric_limits<int>::max()) / 4;
  require(operations < most && buffers < most, Fault::unsupported, "plans with ", operations,
          " operations are too large to be looked at together");
  first_operation.push_back(static_cast<int>(operations));
  counterpart.assign(operations, -1);
  memory_of_.assign(buffers, -1);
}

void Program::join_slots() {
  std::vector<Mapping> mappings;
  const auto add = [&](const Buffer& buffer, int rank, int index) {
    memory_of_[first_buffer_[rank] + index] = static_cast<int>(memories.size());
    memories.push_back(
        {buffer.space, buffer.extent, elements, rank, index, buffer.slot, buffer.peers, -1});
    elements += buffer.extent;
  };
  for (int rank = 0; rank < ranks(); ++rank) {
    const auto& buffers = plans[rank].buffers;
    for (int i = 0; i < static_cast<int>(buffers.size()); ++i) {
      const Buffer& buffer = buffers[i];
      if (buffer.space == Space::shared) {
        mappings.push_back({buffer.owner, buffer.slot, buffer.peer_index, rank, i});
      } else {
        add(buffer, rank, i);
      }
    }
  }
  std::sort(mappings.begin(), mappings.end(),
            [](const Mapping& a, const Mapping& b) { return a.key() < b.key(); });
  int flags = 0;
  for (std::size_t i = 0; i < mappings.size(); ++i) {
    const Mapping& it = mappings[i];
    const Buffer& buffer = plans[it.rank].buffers[it.buffer];
    const bool same_slot =
        i > 0 && mappings[i - 1].owner == it.owner && mappings[i - 1].slot == it.slot;
    if (same_slot) {
      require(mappings[i - 1].peer_index != it.peer_index, Fault::internal, "slot ", it.slot,
              " of rank ", it.owner, " has two sides with peer index ", it.peer_index, ": rank ",
              mappings[i - 1].rank, ", buffer ", mappings[i - 1].buffer, " and rank ", it.rank,
              ", buffer ", it.buffer);
    } else {
      require(it.peer_index == -1, Fault::internal, "rank ", it.rank, " maps slot ", it.slot,
              " of rank ", it.owner, ", which its owner does not have");
      add(buffer, it.rank, it.buffer);
      memories.back().first_flag = flags;
      flags += 1 + buffer.peers;
      continue;
    }
    const Memory& memory = memories.back();
    require(it.peer_index < memory.peers && buffer.extent <= memory.extent, Fault::internal,
            "rank ", it.rank, " maps slot ", it.slot, " of rank ", it.owner, " as peer ",
            it.peer_index, " with ", buffer.extent, " elements, but the owner gave it ",
            memory.peers, " peers and ", memory.extent, " elements");
    memory_of_[first_buffer_[it.rank] + it.buffer] = static_cast<int>(memories.size()) - 1;
  }
  signal_of.assign(flags, -1);
  awaits_of.resize(flags);
}

void Program::join_messages() {
  std::vector<End> sends;
  std::vector<End> receives;
  for (int i = 0; i < operations(); ++i) {
    const Operation& it = operation(i);
    if (it.kind == OperationKind::send) sends.push_back({rank_of[i], it.peer, it.tag, i});
    if (it.kind == OperationKind::receive) receives.push_back({it.peer, rank_of[i], it.tag, i});
  }
  const auto less = [](const End& a, const End& b) { return a.key() < b.key(); };
  for (auto* ends : {&sends, &receives}) {
    sort_by_sender(*ends, ranks(), less);
    for (std::size_t i = 1; i < ends->size(); ++i) {
      const End& end = (*ends)[i];
      if ((*ends)[i - 1].key() != end.key()) continue;
      fail(Fault::internal, describe(end.operation), " uses tag ", end.tag, " from rank ",
           end.sender, " to rank ", end.receiver, " twice: ", describe((*ends)[i - 1].operation),
           " has it too");
    }
  }
  std::size_t next = 0;
  for (const End& send : sends) {
    const bool unsent = next < receives.size() && less(receives[next], send);
    if (unsent) break;
    if (next == receives.size() || less(send, receives[next])) {
      fail(Fault::internal, describe(send.operation), " sends to rank ", send.receiver,
           " with tag ", send.tag, ", but no receive matches it");
    }
    const End& receive = receives[next++];
    counterpart[send.operation] = receive.operation;
    counterpart[receive.operation] = send.operation;
    const Index sent = operation(send.operation).count;
    const Index received = operation(receive.operation).count;
    if (operation(send.operation).local != operation(receive.operation).local) {
      fail(Fault::internal, describe(send.operation), " goes to ", describe(receive.operation),
           ", but only one of the two is said to stay in its region");
    }
    if (sent == received) continue;
    fail(Fault::internal, describe(send.operation), " sends ", sent, " elements with tag ",
         send.tag, ", but ", describe(receive.operation), " receives ", received, " elements");
  }
  if (next == receives.size()) return;
  const End& receive = receives[next];
  fail(Fault::internal, describe(receive.operation), " receives from rank ", receive.sender,
       " with tag ", receive.tag, ", but no send matches it");
}

void Program::join_flags() {
  for (int i = 0; i < operations(); ++i) {
    const Operation& it = operation(i);
    if (it.kind != OperationKind::signal && it.kind != OperationKind::await) continue;
    const Memory& slot = memories[memory(rank_of[i], it.from)];
    if (it.flag < -1 || it.flag >= slot.peers) {
      fail(Fault::internal, describe(i), " names flag ", it.flag, " of a slot with ", slot.peers,
           " peers");
    }
    const int which = flag(i);
    if (it.kind == OperationKind::await) {
      awaits_of[which].push_back(i);
      continue;
    }
    if (signal_of[which] >= 0) {
      fail(Fault::internal, describe(i), " sets the same flag as ", describe(signal_of[which]),
           "; a flag is set once in an execution");
    }
    signal_of[which] = i;
  }
  for (std::size_t which = 0; which < awaits_of.size(); ++which) {
    for (const int await : awaits_of[which]) {
      counterpart[await] = signal_of[which];
      if (signal_of[which] >= 0) continue;
      const Operation& it = operation(await);
      fail(Fault::internal, "deadlock: ", describe(await), " awaits flag ", it.flag, " of ",
           describe_memory(memory(rank_of[await], it.from)), ", which no operation signals");
    }
  }
}

std::string Program::describe(int id) const {
  const int rank = rank_of[id];
  return vicinal::describe(plans[rank], id - first_operation[rank]);
}

std::string Program::describe_memory(int memory) const {
  const Memory& it = memories[memory];
  const std::string rank = std::to_string(it.owner);
  if (it.space == Space::shared) return "slot " + std::to_string(it.slot) + " of rank " + rank;
  return "buffer " + std::to_string(it.buffer) + " (" + name(it.space) + ") of rank " + rank;
}

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
