// The pattern of an allgather over all ranks.
#pragma once

#include <span>

#include "pattern/pattern.hpp"

namespace vicinal {

/// Rank `rank`'s side: rank r contributes counts[r] items, which lie at the beginning of its send
/// buffer; blocks lie in the receive buffer in the order of ranks, with `gap` free slots after each.
Pattern allgather_pattern(int rank, std::span<const Index> counts, Index gap = 0);

}  // namespace vicinal
