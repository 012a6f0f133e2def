// A complete graph: an edge between any two ranks, and from each rank to itself.
#include "pattern/allgather_pattern.hpp"

namespace vicinal {

Pattern allgather_pattern(int rank, std::span<const Index> counts, Index gap) {
  Pattern pattern;
  pattern.identity = true;
  pattern.out.reserve(counts.size());
  pattern.in.reserve(counts.size());
  const Index own = counts[static_cast<std::size_t>(rank)];
  Index place = 0;
  for (std::size_t i = 0; i < counts.size(); ++i) {
    const int other = static_cast<int>(i);
    OutEdge& out = pattern.out.emplace_back(OutEdge{other, {}});
    if (own > 0) out.items.push_back({0, 0, own});
    InEdge& in = pattern.in.emplace_back(InEdge{other, counts[i], {}});
    if (counts[i] > 0) in.slots.push_back({0, place, counts[i]});
    place += counts[i] + gap;
  }
  return pattern;
}

}  // namespace vicinal
