// Tests the parts of the relay family: positions of a link's slots, contents of a stream, costs of
// grouped traffic.
#include <algorithm>
#include <map>
#include <random>
#include <set>

#include "check.hpp"
#include "negotiate/links.hpp"
#include "planners/common_neighbor/groups.hpp"

namespace vicinal::relay_parts_tests {
namespace {

/// Computes the result of append_slots() element by element.
std::set<std::pair<Index, Index>> slots_one_by_one(const InLink& link, Index offset, Index count,
                                                   Index base) {
  std::set<std::pair<Index, Index>> result;
  for (const CopyRun& run : link.slots) {
    for (Index i = 0; i < run.count; ++i) {
      const Index item = run.source + i;
      if (item >= offset && item < offset + count) {
        result.emplace(base + (item - offset), run.target + i);
      }
    }
  }
  return result;
}

}  // namespace

TEST(slots_that_overlap_are_all_found) {
  std::mt19937 random(5);
  for (int round = 0; round < 300; ++round) {
    Pattern pattern;
    InEdge& edge = pattern.in.emplace_back();
    edge.rank = 0;
    edge.count = 40;
    Index target = 0;
    for (int i = 0; i < 8; ++i) {
      // Some runs are much longer than the others and begin before them.
      const Index count = 1 + static_cast<Index>(random() % (random() % 3 == 0 ? 30U : 4U));
      const auto source = static_cast<Index>(random() % static_cast<unsigned>(41 - count));
      edge.slots.push_back({source, target, count});
      target += count + static_cast<Index>(random() % 2);
    }
    const InLink link = in_links(pattern).at(0);
    const auto offset = static_cast<Index>(random() % 38);
    const Index count = 1 + static_cast<Index>(random() % static_cast<unsigned>(40 - offset));
    std::vector<CopyRun> runs;
    append_slots(runs, link, offset, count, 100);
    std::set<std::pair<Index, Index>> found;
    for (const CopyRun& run : runs) {
      for (Index i = 0; i < run.count; ++i) found.emplace(run.source + i, run.target + i);
    }
    CHECK(found == slots_one_by_one(link, offset, count, 100));
  }
}

TEST(each_item_stands_once_in_a_stream) {
  std::mt19937 random(7);
  for (int round = 0; round < 300; ++round) {
    Pattern pattern;
    std::map<Index, std::set<std::pair<int, Index>>> places;  // of each item: link and offset
    for (int peer = 1; peer <= 3; ++peer) {
      OutEdge& edge = pattern.out.emplace_back();
      edge.rank = peer;
      Index offset = 0, item = 0;
      while (item < 40 && random() % 8 != 0) {
        item += static_cast<Index>(random() % 6);
        const Index count = 1 + static_cast<Index>(random() % 12);
        edge.items.push_back({item, item, count});
        for (Index i = 0; i < count; ++i) places[item + i].emplace(peer, offset + i);
        item += count;
        offset += count;
      }
    }
    const std::map<int, OutLink> links = out_links(pattern, true);
    std::vector<const OutLink*> all;
    for (const auto& [peer, link] : links) all.push_back(&link);
    const Stream stream = merge(all);
    std::map<Index, std::set<std::pair<int, Index>>> found;
    Index count = 0;
    for (const StreamRun& run : stream.runs) {
      count += run.count;
      for (Index i = 0; i < run.count; ++i) {
        auto& those = found[run.position + i];
        CHECK(those.empty());
        for (const Occurrence& one : run.occurrences) those.emplace(one.peer, one.offset + i);
      }
    }
    CHECK_EQUAL(count, stream.count);
    CHECK(found == places);
  }
}

TEST(grouped_traffic_costs_what_is_on_the_wire) {
  MemberLoad load;
  load.messages = 3;
  load.elements = 1000;
  const Profile& profile = default_profile();
  const std::vector<MemberLoad> one{load}, two{load, load};
  const double small = grouped_seconds(one, 8, profile), large = grouped_seconds(one, 800, profile);
  CHECK(large > small + 0.9 * 1000 * 792 * profile.network().seconds_per_byte());
  // Two members share the wire.
  CHECK(grouped_seconds(two, 800, profile) >
        large + 0.9 * 1000 * 800 * profile.network().seconds_per_byte());
}

}  // namespace vicinal::relay_parts_tests
