// Random patterns for property tests. They have zero-degree ranks, one-way edges, self-edges,
// several edges between one pair, and zero counts. Several ranks may need an item; slots may repeat
// items and have gaps. A seed gives the same patterns on every rank.
#pragma once

#include <memory>
#include <random>
#include <sstream>
#include <string>
#include <vector>

#include "locality/machine.hpp"
#include "pattern/pattern.hpp"

namespace vicinal::testing {

/// Regions and hosts for virtual ranks, and the text from which the regions were read.
struct RandomMachine {
  std::shared_ptr<const Machine> machine;
  std::string regions;
};

class RandomPatterns {
 public:
  explicit RandomPatterns(unsigned seed) : generator_(seed) {}

  int between(int least, int most) {
    return std::uniform_int_distribution<int>(least, most)(generator_);
  }
  bool chance(double probability) {
    return std::uniform_real_distribution<>(0, 1)(generator_) < probability;
  }

  /// Draws one pattern for each rank. Items are positions of the source buffer, 0 to 39.
  std::vector<Pattern> make(int size, bool identity, double density = 0.5, int most_items = 20) {
    std::vector<Pattern> patterns(static_cast<std::size_t>(size));
    std::vector<Index> next_slot(static_cast<std::size_t>(size), 0);
    for (Pattern& pattern : patterns) pattern.identity = identity;
    for (int from = 0; from < size; ++from) {
      if (chance(0.1)) continue;  // sends nothing, and often receives nothing
      for (int to = 0; to < size; ++to) {
        if (!chance(density)) continue;
        const int edges = chance(0.15) ? 2 : 1;
        for (int edge = 0; edge < edges; ++edge) {
          add_edge(patterns, next_slot, from, to, most_items);
        }
      }
    }
    return patterns;
  }

  /// Draws a region text for `size` ranks: equal, unequal, one-rank or round-robin regions.
  std::string regions(int size) {
    const int kind = between(0, 4);
    if (kind == 0) return "blocks:" + std::to_string(between(1, size));
    if (kind == 1) return "round-robin:" + std::to_string(between(1, size));
    if (kind == 2) return "blocks:1";
    if (kind == 3) return "blocks:" + std::to_string((size + 1) / 2);
    std::ostringstream text;
    text << "list:";
    for (int rank = 0; rank < size; ++rank) {
      text << (rank > 0 ? "," : "") << between(0, (size - 1) / 2);
    }
    return text.str();
  }

  /// Draws one to three hosts whose ranks lie anywhere, and regions of any kind.
  RandomMachine machine(int size) {
    DetectedPlaces places;
    const int hosts = between(1, 3);
    for (int rank = 0; rank < size; ++rank) {
      places.node_of.push_back(between(1, hosts));
      places.numa_of.push_back(0);
    }
    const std::string text = regions(size);
    return {std::make_shared<const Machine>(read_regions(text, places), places.node_of), text};
  }

 private:
  void add_edge(std::vector<Pattern>& patterns, std::vector<Index>& next_slot, int from, int to,
                int most_items) {
    OutEdge out;
    InEdge in;
    out.rank = to;
    in.rank = from;
    for (int left = between(0, most_items); left > 0;) {
      const int count = std::min(left, between(1, 5));
      const Index item = between(0, 35);
      out.items.push_back({item, item, count});
      in.count += count;
      left -= count;
    }
    Index& slot = next_slot[static_cast<std::size_t>(to)];
    slot += between(0, 2);
    for (Index offset = 0; offset < in.count;) {
      const Index count = std::min<Index>(in.count - offset, between(1, 8));
      in.slots.push_back({offset, slot, count});
      slot += count + between(0, 1);
      if (chance(0.2)) {
        in.slots.push_back({offset, slot, count});
        slot += count;
      }
      offset += count;
    }
    patterns[static_cast<std::size_t>(from)].out.push_back(std::move(out));
    patterns[static_cast<std::size_t>(to)].in.push_back(std::move(in));
  }

  std::mt19937 generator_;
};

/// Calls visit(from, position, to, slot) for each slot that the patterns fill.
template <class Visit>
void for_each_delivery(const std::vector<Pattern>& patterns, Visit visit) {
  const auto size = static_cast<int>(patterns.size());
  for (int to = 0; to < size; ++to) {
    std::vector<int> seen(patterns.size(), 0);  // edges from each rank so far
    for (const InEdge& in : patterns[static_cast<std::size_t>(to)].in) {
      int k = seen[static_cast<std::size_t>(in.rank)]++;
      const OutEdge* out = nullptr;
      for (const OutEdge& edge : patterns[static_cast<std::size_t>(in.rank)].out) {
        if (edge.rank == to && k-- == 0) out = &edge;
      }
      std::vector<Index> position;
      for (const ItemRun& run : out->items) {
        for (Index i = 0; i < run.count; ++i) position.push_back(run.position + i);
      }
      for (const CopyRun& run : in.slots) {
        for (Index i = 0; i < run.count; ++i) {
          visit(in.rank, position[static_cast<std::size_t>(run.source + i)], to, run.target + i);
        }
      }
    }
  }
}

}  // namespace vicinal::testing
