// Resolves the names by which plans refer to each other, with a sort and a merge for each kind of
// name. This stays cheap for thousands of virtual ranks.
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

}  // namespace vicinal
