// The pattern of an allgather over all ranks.
#pragma once

#include <span>

#include "pattern/pattern.hpp"

namespace vicinal {

/// Returns rank `rank`'s side. Rank r contributes counts[r] items from the beginning of its send
/// buffer. The receive buffer holds the blocks in rank order, each followed by `gap` free slots.
Pattern allgather_pattern(int rank, std::span<const Index> counts, Index gap = 0);

}  // namespace vicinal
