// Sets of ranks in letters: one word for each, or one bit for each rank of the communicator,
// whichever is shorter.
#pragma once

#include <span>
#include <vector>

#include "base/conversation.hpp"

namespace vicinal::halving {

/// Appends ascending ranks, each below `size`.
void write_ranks(Words& words, std::span<const int> ranks, int size);

/// Reads what write_ranks wrote, from words[at] onwards, and moves `at` behind it.
std::vector<int> read_ranks(const Words& words, std::size_t& at);

}  // namespace vicinal::halving
