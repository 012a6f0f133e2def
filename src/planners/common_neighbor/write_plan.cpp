// Routes as a plan. What others wait for comes first: receives are posted, own items are handed
// over and sent where nobody else's are needed, then messages are put together; what only this rank
// waits for comes last.
#include <map>

#include "plan/builder.hpp"
#include "planners/common_neighbor/routes.hpp"

namespace vicinal::common_neighbor {

namespace {

class Writer {
 public:
  Writer(const CommonNeighborRoutes& routes, int rank, int size)
      : routes_(routes), rank_(rank), plan_(rank, size, "common-neighbor", false) {}

  Plan write() {
    for (const Straight& message : routes_.receives) {
      const Phase phase = message.local ? Phase::local : Phase::non_local;
      plan_.receive_and_unpack(phase, message.local, Plan::target, message.runs, message.count,
                               message.peer, message.tag);
    }
    for (const Supply& supply : routes_.supplies) {
      if (supply.via == Via::message) receive(supply);
    }
    if (routes_.exhibit) show(*routes_.exhibit);
    for (const Straight& it : routes_.handed) {
      plan_.pack_and_send(Phase::gather, true, Plan::source, it.runs, it.count, it.peer, it.tag,
                          {});
    }
    for (const OutgoingMessage& message : routes_.messages) {
      if (only_own(message)) send(message);
    }
    if (!routes_.self.empty()) {
      plan_.copy(Phase::direct, Plan::source, Plan::target, routes_.self, {});
    }
    for (const Supply& supply : routes_.supplies) {
      if (supply.via == Via::shared) look_at(supply);
    }
    for (const OutgoingMessage& message : routes_.messages) {
      if (!only_own(message)) send(message);
    }
    for (const Supply& supply : routes_.supplies) {
      if (supply.via == Via::shared) take(supply);
    }
    return plan_.finish();
  }

 private:
  /// What another rank has handed to this one.
  struct Supplied {
    int buffer = -1;
    int ready = -1;         ///< the operation after which it is there
    std::vector<int> uses;  ///< the operations that read it
  };

  [[nodiscard]] bool only_own(const OutgoingMessage& message) const {
    return message.ingredients.size() == 1 && message.ingredients.front().rank == rank_;
  }

  void receive(const Supply& supply) {
    const int buffer = plan_.staging(supply.extent);
    const int received =
        plan_.receive(Phase::gather, true, buffer, 0, supply.extent, supply.owner, supply.tag, {});
    supplied_[supply.owner] = {buffer, received, {}};
  }

  void show(const Exhibit& exhibit) {
    const int slot = plan_.own_slot(exhibit.slot, exhibit.extent, exhibit.readers);
    std::vector<int> free;
    for (int reader = 0; reader < exhibit.readers; ++reader) {
      free.push_back(plan_.await(Phase::gather, slot, reader, 1));
    }
    const int packed = plan_.copy(Phase::gather, Plan::source, slot, exhibit.pack, std::move(free));
    plan_.signal(Phase::gather, slot, -1, {packed});
  }

  void look_at(const Supply& supply) {
    const int slot = plan_.far_slot(supply.slot, supply.extent, supply.owner, supply.peer_index);
    supplied_[supply.owner] = {slot, plan_.await(Phase::gather, slot, -1, 0), {}};
  }

  void take(const Supply& supply) {
    Supplied& it = supplied_.at(supply.owner);
    if (!supply.taken.empty()) {
      it.uses.push_back(
          plan_.copy(Phase::local, it.buffer, Plan::target, supply.taken, {it.ready}));
    }
    if (it.uses.empty()) it.uses.push_back(it.ready);
    plan_.signal(Phase::gather, it.buffer, supply.peer_index, std::move(it.uses));
  }

  void send(const OutgoingMessage& message) {
    const Phase phase = message.local ? Phase::local : Phase::non_local;
    const Ingredient& first = message.ingredients.front();
    if (only_own(message) && first.picks.size() == 1) {
      plan_.send(phase, message.local, Plan::source, first.picks.front().source, message.count,
                 message.peer, message.tag, {});
      return;
    }
    const Packed& packed = pack(message);
    plan_.send(phase, message.local, packed.buffer, 0, message.count, message.peer, message.tag,
               packed.copies);
  }

  struct Packed {
    int buffer = -1;
    std::vector<int> copies;
  };

  /// Messages with the same content, as most are in an allgather, are put together once.
  const Packed& pack(const OutgoingMessage& message) {
    std::vector<Index> content;
    for (const Ingredient& ingredient : message.ingredients) {
      content.insert(content.end(), {ingredient.rank, static_cast<Index>(ingredient.picks.size())});
      for (const CopyRun& run : ingredient.picks) {
        content.insert(content.end(), {run.source, run.target, run.count});
      }
    }
    const auto [entry, fresh] = packed_.try_emplace(std::move(content));
    Packed& packed = entry->second;
    if (!fresh) return packed;
    packed.buffer = plan_.staging(message.count);
    for (const Ingredient& ingredient : message.ingredients) {
      if (ingredient.rank == rank_) {
        packed.copies.push_back(
            plan_.copy(Phase::gather, Plan::source, packed.buffer, ingredient.picks, {}));
        continue;
      }
      Supplied& supplied = supplied_.at(ingredient.rank);
      packed.copies.push_back(plan_.copy(Phase::gather, supplied.buffer, packed.buffer,
                                         ingredient.picks, {supplied.ready}));
      supplied.uses.push_back(packed.copies.back());
    }
    return packed;
  }

  const CommonNeighborRoutes& routes_;
  int rank_;
  PlanBuilder plan_;
  std::map<int, Supplied> supplied_;             ///< by owner
  std::map<std::vector<Index>, Packed> packed_;  ///< by content
};

}  // namespace

Plan write_plan(const CommonNeighborRoutes& routes, int rank, int size) {
  return Writer(routes, rank, size).write();
}

}  // namespace vicinal::common_neighbor
