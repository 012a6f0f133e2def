// The workings of the relay family one by one: where slots of a link lie, and who leads.
#include <algorithm>
#include <map>
#include <numeric>
#include <random>
#include <set>

#include "check.hpp"
#include "cost/grouping.hpp"
#include "planners/links.hpp"
#include "planners/relay/leaders.hpp"

namespace vicinal {
namespace {

/// What append_slots does, one element at a time.
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

/// Region 0 with so many active ranks, which send to and receive from regions 1 to `others`.
Neighborhood region_of(int members, int others) {
  std::vector<int> regions;
  for (int region = 0; region <= others; ++region) {
    regions.insert(regions.end(), static_cast<std::size_t>(members), region);
  }
  Neighborhood neighborhood;
  neighborhood.machine = std::make_shared<const Machine>(regions, std::vector<int>(regions.size()));
  neighborhood.active.resize(static_cast<std::size_t>(members));
  std::iota(neighborhood.active.begin(), neighborhood.active.end(), 0);
  for (int region = 1; region <= others; ++region) {
    const RegionLink link{region, 0, region * members, neighborhood.active};
    neighborhood.out.push_back(link);
    neighborhood.in.push_back(link);
  }
  return neighborhood;
}

std::vector<LinkLoad> loads(const std::vector<Index>& elements) {
  std::vector<LinkLoad> result;
  for (const Index count : elements) {
    LinkLoad& load = result.emplace_back();
    load.traffic.distinct = count;
    load.traffic.elements = count;
  }
  return result;
}

RelayPolicy dividing(RelayPolicy::Division division) {
  RelayPolicy policy;
  policy.division = division;
  return policy;
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
      // Now and then one that is much longer than the others, and begins before them.
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

TEST(parts_have_leaders_of_their_own) {
  PlanOptions options;
  options.element_bytes = 8;
  options.split_bytes = 800;
  const RelayPolicy policy = dividing(RelayPolicy::Division::bytes);
  CHECK_EQUAL(parts(policy, options, 100, 4), 1);
  CHECK_EQUAL(parts(policy, options, 101, 4), 2);
  CHECK_EQUAL(parts(policy, options, 250, 4), 3);
  CHECK_EQUAL(parts(policy, options, 5000, 4), 4);
  CHECK_EQUAL(parts(policy, options, 0, 4), 1);
  const Leaders leaders =
      assign_leaders(region_of(4, 1), policy, options, loads({250}), loads({250}));
  for (const auto& chosen : {leaders.out[0], leaders.in[0]}) {
    CHECK_EQUAL(chosen.size(), std::size_t{3});
    CHECK_EQUAL(std::set<int>(chosen.begin(), chosen.end()).size(), std::size_t{3});
  }
}

TEST(pairs_have_leaders_of_their_own_while_there_are_enough) {
  const RelayPolicy policy = dividing(RelayPolicy::Division::whole);
  const Leaders leaders =
      assign_leaders(region_of(6, 3), policy, {}, loads({10, 20, 30}), loads({5, 25, 15}));
  std::set<int> all;
  for (const auto& side : {leaders.out, leaders.in}) {
    for (const std::vector<int>& chosen : side) {
      CHECK_EQUAL(chosen.size(), std::size_t{1});
      all.insert(chosen.front());
    }
  }
  CHECK_EQUAL(all.size(), std::size_t{6});
}

TEST(who_leads_a_heavy_pair_leads_no_other_while_the_rest_is_light) {
  const std::vector<Index> nothing(4);
  const Leaders leaders = assign_leaders(region_of(2, 4), dividing(RelayPolicy::Division::whole),
                                         {}, loads({10, 10'000'000, 10, 10}), loads(nothing));
  const int heavy = leaders.out[1].front();
  for (const std::size_t light : {0U, 2U, 3U}) CHECK(leaders.out[light].front() != heavy);
  for (const std::vector<int>& chosen : leaders.in) CHECK(chosen.front() != heavy);
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

}  // namespace vicinal
