// The transfers of one rank in one execution, before they are a plan: gives and takes, by message
// or through slots, and moves between stores. Every family of planners produces such a list. Only
// write_plan() makes a plan of it, writes operations and synchronizes slots. The reverse of a list
// is a list (reverse_of). A passage tells how one rank hands data to another in one execution.
//
// The list contains no synchronization, since that follows from it. A read of a part of a store
// comes after the transfers that fill it. Each kind of slot determines which side signals and
// awaits what. For example, a leader hands a message of three elements on to two ranks of its host:
//
//   const int slot = transfers.add(
//       Store::own_slot(Store::Kind::handing_out, Phase::scatter, slots, 3, windows));
//   transfers.take(Phase::non_local, false, far_leader, tag, 3, Part{slot, {{0, 0, 3}}});
//
// One of the two ranks wants the last element at position 7:
//
//   const int slot = transfers.add(
//       Store::far_slot(Store::Kind::handing_out, Phase::scatter, leader, passage, picks));
//   transfers.move(Phase::scatter, slot, Plan::target, {{2, 7, 1}});
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/records.hpp"
#include "base/runs.hpp"
#include "negotiate/planner.hpp"
#include "plan/plan.hpp"

namespace vicinal {

/// A slot for each direction. An element that several ranks read forward becomes several
/// contributions in reverse, so the two slots differ in size.
struct SlotPair {
  std::int64_t forward = -1;
  std::int64_t reverse = -1;
};
void fields(auto&& take, Is<SlotPair> auto& it) { take(it.forward, it.reverse); }

/// A message, a slot in the arena of their host, or nothing.
struct Passage {
  std::int64_t tag = -1;
  SlotPair slot;
  int peer_index = -1;  ///< index of the non-owner in the slot
  Index extent = 0;     ///< of the slot or the message
  Index offset = 0;     ///< slot: start of the peer's area, if each peer has its own
  [[nodiscard]] bool shared() const { return slot.forward >= 0; }

  static Passage message(std::int64_t tag, Index extent) {
    Passage passage;
    passage.tag = tag;
    passage.extent = extent;
    return passage;
  }
};
void fields(auto&& take, Is<Passage> auto& it) {
  take(it.tag, it.slot, it.peer_index, it.extent, it.offset);
}

/// A peer's use of a slot: some of its elements, in the peer's own order.
struct Window {
  std::vector<CopyRun> picks;  ///< slot -> that order; both ascend, no element occurs twice
  Index offset = 0;            ///< as in Passage
  int peer = -1;               ///< its rank, if known
};

/// A place where elements lie.
struct Store {
  enum class Kind : std::uint8_t {
    user,         ///< the source and the target
    own,          ///< private to this rank
    handing_out,  ///< a slot that its owner fills and its peers read
    taking_in,    ///< a slot that its peers fill, each its own part, and its owner reads
  };
  Kind kind = Kind::own;
  Phase phase = Phase::direct;  ///< of a slot's flags
  Index extent = 0;
  SlotPair slot;
  int owner = -1;               ///< of a slot
  int peer_index = -1;          ///< of this rank in another rank's slot
  std::vector<Window> windows;  ///< own slot: by peer; another rank's: this rank's alone

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

/// A message's use of a store.
struct Part {
  int store = -1;
  /// Give: store -> message. Take: message -> store. Move: store -> store.
  std::vector<CopyRun> runs;
  friend bool operator==(const Part&, const Part&) = default;
};

struct Transfer {
  enum class Kind : std::uint8_t { give, take, move };
  Kind kind = Kind::move;
  Phase phase = Phase::direct;
  std::vector<Part> pieces;  ///< exactly one for a move

  int to = -1;  ///< for a move

  // For messages only.
  bool local = false;  ///< both ranks are in one region
  int peer = -1;
  std::int64_t tag = -1;
  Index count = 0;
};

/// Transfers in order: each comes after those that fill the positions that it reads. Positions are
/// in elements.
struct Transfers {
  Transfers();

  std::vector<Store> stores;  ///< the first two are Plan::source and Plan::target
  std::vector<Transfer> list;
  bool reverse = false;  ///< contributions to one position are added up

  int add(Store store);
  /// Adds a store that is private to this rank.
  int hold(Index extent);
  void give(Phase phase, bool local, int peer, std::int64_t tag, Index count,
            std::vector<Part> pieces);
  void take(Phase phase, bool local, int peer, std::int64_t tag, Index count,
            std::vector<Part> pieces);
  void give(Phase phase, bool local, int peer, std::int64_t tag, Index count, Part piece);
  void take(Phase phase, bool local, int peer, std::int64_t tag, Index count, Part piece);
  void move(Phase phase, int from, int to, std::vector<CopyRun> runs);
  /// Gives by a message, or by a slot of this rank that only the peer reads, and reads completely.
  void give(Phase phase, bool local, int peer, const Passage& passage, std::vector<Part> pieces);
  /// Takes at the other end of such a passage.
  void take(Phase phase, bool local, int peer, const Passage& passage, std::vector<Part> pieces);
};

/// Returns the reverse: gives become takes, and slots that handed out take in. Where an element
/// went to several places, the contributions from there come together. The order of operands is
/// fixed, so that sums are reproducible.
Transfers reverse_of(const Transfers& forward);

/// Returns the elements that runs read, each once, in the order of their positions.
std::vector<CopyRun> picks_of(std::vector<CopyRun> runs);
/// As picks_of(), for all elements up to `extent`.
std::vector<CopyRun> all_picks(Index extent);
/// Returns where picks put the element at a position.
Index place_in(const std::vector<CopyRun>& picks, Index position);
/// Makes each window's area begin where the previous one ends; returns the end of the last.
Index lay_end_to_end(std::vector<Window>& windows);
/// Composes runs: first `inner`, then `outer`, whose sources ascend and cover all targets of
/// `inner`.
std::vector<CopyRun> compose(const std::vector<CopyRun>& inner, const std::vector<CopyRun>& outer);
/// Returns the runs with their targets moved by `by`.
std::vector<CopyRun> shifted(std::vector<CopyRun> runs, Index by);

/// Returns one rank's plan; local. Operations that other ranks wait for come first: receives, then
/// gives of this rank's own items, then forwarded items. Operations that only this rank waits for
/// come last.
Plan write_plan(Transfers transfers, int rank, int size, std::string_view planner);

/// Returns the plan, and the reverse if it is requested.
Plans write_plans(Transfers transfers, const PlanRequest& request, std::string_view planner,
                  std::string reason = {});

}  // namespace vicinal
