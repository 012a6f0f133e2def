// What one rank does in one execution, before it is a plan: what it gives to whom and takes from whom, by message or
// through slots, and what it moves between its stores. Every family of planners ends in such a list; write_plan.hpp
// makes the plan of any, and the reverse of a list is a list (reverse_of).
//
// The list says nothing of synchronization, as that follows: what is read from a store comes after what fills
// that part of it, and for each kind of slot it is known who signals and who awaits what. A leader that hands a
// message of three elements on to two ranks of its host:
//
//   const int slot = transfers.add(Store::own_slot(Store::Kind::handing_out, Phase::scatter, slots, 3, windows));
//   transfers.take(Phase::non_local, false, far_leader, tag, 3, Part{slot, {{0, 0, 3}}});
//
// and one of the two, which wants the last element of them at place 7:
//
//   const int slot = transfers.add(Store::far_slot(Store::Kind::handing_out, Phase::scatter, leader, passage, picks));
//   transfers.move(Phase::scatter, slot, Plan::target, {{2, 7, 1}});
#pragma once

#include <cstdint>
#include <vector>

#include "base/runs.hpp"
#include "plan/plan.hpp"
#include "planners/passage.hpp"

namespace vicinal {

/// What one peer has to do with a slot: some of its elements, in an order of the peer's own.
struct Window {
  std::vector<CopyRun> picks;  ///< slot -> that order, in which they ascend too; none stands twice
  Index offset = 0;            ///< as in Passage
  int peer = -1;               ///< its rank, as far as that is known
};

/// Where elements lie on their way.
struct Store {
  enum class Kind : std::uint8_t {
    user,         ///< the source and the target
    own,          ///< of this rank alone
    handing_out,  ///< a slot that its owner fills and its peers read
    taking_in,    ///< a slot that its peers fill, each a part of its own, and its owner reads
  };
  Kind kind = Kind::own;
  Phase phase = Phase::direct;  ///< of a slot's flags
  Index extent = 0;
  SlotPair slot;
  int owner = -1;               ///< of a slot
  int peer_index = -1;          ///< of this rank in another's slot
  std::vector<Window> windows;  ///< of an own slot by peer; of another's this rank's alone

  [[nodiscard]] bool is_slot() const {
    return kind == Kind::handing_out || kind == Kind::taking_in;
  }
  [[nodiscard]] bool is_far() const { return peer_index >= 0; }

  static Store own_slot(Kind kind, Phase phase, SlotPair slot, Index extent,
                        std::vector<Window> windows) {
    return {kind, phase, extent, slot, -1, -1, std::move(windows)};
  }
  static Store far_slot(Kind kind, Phase phase, int owner, const Passage& passage,
                        std::vector<CopyRun> picks) {
    return {kind,
            phase,
            passage.extent,
            passage.slot,
            owner,
            passage.peer_index,
            {{std::move(picks), passage.offset}}};
  }
};

/// What a message has to do with a store.
struct Part {
  int store = -1;
  std::vector<CopyRun>
      runs;  ///< give: store -> message; take: message -> store; move: store -> store
  friend bool operator==(const Part&, const Part&) = default;
};

struct Transfer {
  enum class Kind : std::uint8_t { give, take, move };
  Kind kind = Kind::move;
  Phase phase = Phase::direct;
  std::vector<Part> pieces;  ///< move: one

  int to = -1;  ///< move

  // Messages.
  bool local = false;  ///< both ranks are in one region
  int peer = -1;
  std::int64_t tag = -1;
  Index count = 0;
};

/// Every transfer stands after those that fill what it reads. Positions in stores are in elements.
struct Transfers {
  Transfers();

  std::vector<Store> stores;  ///< the first two are Plan::source and Plan::target
  std::vector<Transfer> list;
  bool reverse = false;  ///< what comes to one place several times is added up there

  int add(Store store);
  /// A store of this rank alone.
  int hold(Index extent);
  void give(Phase phase, bool local, int peer, std::int64_t tag, Index count,
            std::vector<Part> pieces);
  void take(Phase phase, bool local, int peer, std::int64_t tag, Index count,
            std::vector<Part> pieces);
  void give(Phase phase, bool local, int peer, std::int64_t tag, Index count, Part piece);
  void take(Phase phase, bool local, int peer, std::int64_t tag, Index count, Part piece);
  void move(Phase phase, int from, int to, std::vector<CopyRun> runs);
  /// By a message, or by a slot of this rank that the peer alone reads, all of it.
  void give(Phase phase, bool local, int peer, const Passage& passage, std::vector<Part> pieces);
  /// The other end of that.
  void take(Phase phase, bool local, int peer, const Passage& passage, std::vector<Part> pieces);
};

/// The way back: gives are takes, slots that handed out take in, and where an element went to several places their
/// contributions come together. The order of operands is fixed, so that sums come out the same each time.
Transfers reverse_of(const Transfers& forward);

/// The elements that runs read, each once, in the order of their positions.
std::vector<CopyRun> picks_of(std::vector<CopyRun> runs);
/// The same of all elements up to `extent`.
std::vector<CopyRun> all_picks(Index extent);
/// Where a pick puts the element at a position.
Index place_in(const std::vector<CopyRun>& picks, Index position);
/// Has each window's area begin where the one before it ends; returns the end of the last.
Index lay_end_to_end(std::vector<Window>& windows);
/// First `inner`, then `outer`, whose sources ascend and cover all of inner's targets.
std::vector<CopyRun> compose(const std::vector<CopyRun>& inner, const std::vector<CopyRun>& outer);
/// Runs whose targets lie further on.
std::vector<CopyRun> shifted(std::vector<CopyRun> runs, Index by);

}  // namespace vicinal
