#include "planners/halving/rank_list.hpp"

#include <bit>
#include <cstdint>

namespace vicinal::halving {

namespace {
constexpr std::size_t bits_of_word = 64;
}

RankSet set_of(std::span<const int> ranks, int size) {
  const std::size_t words = (static_cast<std::size_t>(size) + bits_of_word - 1) / bits_of_word;
  RankSet set;
  if (ranks.size() <= words) {
    set.listed.assign(ranks.begin(), ranks.end());
    return set;
  }
  set.bits.resize(words, 0);
  for (const int rank : ranks) {
    const auto bit = static_cast<std::size_t>(rank);
    std::int64_t& word = set.bits[bit / bits_of_word];
    word = static_cast<std::int64_t>(static_cast<std::uint64_t>(word) | std::uint64_t{1}
                                                                            << bit % bits_of_word);
  }
  return set;
}

std::vector<int> ranks_of(const RankSet& set) {
  std::vector<int> ranks = set.listed;
  for (std::size_t i = 0; i < set.bits.size(); ++i) {
    for (auto left = static_cast<std::uint64_t>(set.bits[i]); left != 0; left &= left - 1) {
      ranks.push_back(static_cast<int>(bits_of_word * i) + std::countr_zero(left));
    }
  }
  return ranks;
}

}  // namespace vicinal::halving
