// The way by which one rank hands something to another, in one execution of a plan.
#pragma once

#include <cstdint>

#include "base/records.hpp"

namespace vicinal {

/// A message, a slot in the arena of their host, or nothing.
struct Passage {
  std::int64_t tag = -1;
  std::int64_t slot = -1;
  int peer_index = -1;  ///< in the slot: that of the rank that is not its owner
  [[nodiscard]] bool shared() const { return slot >= 0; }
};
void fields(auto&& take, Is<Passage> auto& it) { take(it.tag, it.slot, it.peer_index); }

}  // namespace vicinal
