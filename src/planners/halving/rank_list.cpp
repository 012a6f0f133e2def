// A first word says which form follows: the number of ranks, or its negative before a bitmap,
// followed by the number of words.
#include "planners/halving/rank_list.hpp"

#include <bit>
#include <cstdint>

namespace vicinal::halving {

namespace {
constexpr std::size_t bits = 64;
}

void write_ranks(Words& words, std::span<const int> ranks, int size) {
  const std::size_t map_words = (static_cast<std::size_t>(size) + bits - 1) / bits;
  const auto count = static_cast<std::int64_t>(ranks.size());
  if (ranks.size() <= map_words + 1) {
    words.push_back(count);
    words.insert(words.end(), ranks.begin(), ranks.end());
    return;
  }
  words.push_back(-count);
  words.push_back(static_cast<std::int64_t>(map_words));
  const std::size_t first = words.size();
  words.resize(first + map_words, 0);
  for (const int rank : ranks) {
    const auto bit = static_cast<std::size_t>(rank);
    std::int64_t& word = words[first + bit / bits];
    word = static_cast<std::int64_t>(static_cast<std::uint64_t>(word) | std::uint64_t{1}
                                                                            << bit % bits);
  }
}

std::vector<int> read_ranks(const Words& words, std::size_t& at) {
  std::vector<int> ranks;
  const std::int64_t count = words[at++];
  if (count >= 0) {
    for (std::int64_t i = 0; i < count; ++i) ranks.push_back(static_cast<int>(words[at++]));
    return ranks;
  }
  ranks.reserve(static_cast<std::size_t>(-count));
  const auto map_words = static_cast<std::size_t>(words[at++]);
  for (std::size_t i = 0; i < map_words; ++i) {
    for (auto left = static_cast<std::uint64_t>(words[at++]); left != 0; left &= left - 1) {
      ranks.push_back(static_cast<int>(bits * i) + std::countr_zero(left));
    }
  }
  return ranks;
}

}  // namespace vicinal::halving
