// A passage: how one rank hands data to another in one execution of a plan.
#pragma once

#include <cstdint>

#include "base/records.hpp"
#include "base/runs.hpp"

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

}  // namespace vicinal
