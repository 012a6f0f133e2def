// Tests the choice of leaders and relayed pairs against all possible states, where those are few.
#include "cost/region_loads.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <random>
#include <set>

#include "check.hpp"

namespace vicinal::region_loads_tests {
namespace {

using Division = RelayRules::Division;
using Route = RegionLoads::Route;

/// Returns a pair to which all members contribute equally.
RegionPair even(int region, bool outgoing, int members, Index edges, Index elements) {
  RegionPair pair{outgoing, region, Level::network, members, {}};
  for (int member = 0; member < members; ++member) {
    pair.shares.push_back({member, edges, elements, elements});
  }
  return pair;
}

std::vector<RegionPair> random_pairs(std::mt19937& random, int members, int pairs) {
  const auto below = [&](unsigned limit) { return static_cast<Index>(random() % limit); };
  std::vector<RegionPair> result;
  for (int i = 0; i < pairs; ++i) {
    RegionPair& pair =
        result.emplace_back(RegionPair{below(2) == 0, i / 2 + 1, Level::network, members, {}});
    const Index longest = Index{1} << below(14);
    for (int member = 0; member < members; ++member) {
      if (below(3) == 0) continue;
      const Index edges = 1 + below(8),
                  elements = edges * (1 + below(static_cast<unsigned>(longest)));
      pair.shares.push_back(
          {member, edges, elements,
           pair.outgoing ? 1 + below(static_cast<unsigned>(elements)) : elements});
    }
    if (pair.shares.empty()) pair.shares.push_back({0, 1, 1, 1});
  }
  return result;
}

std::set<int> set_of(const std::vector<int>& leaders) { return {leaders.begin(), leaders.end()}; }

RegionLoads planned(std::vector<RegionPair> pairs, std::size_t members, const RelayRules& rules,
                    double ranks_per_core = 1) {
  RegionLoads loads(members, ranks_per_core, default_profile(), rules);
  loads.plan(std::move(pairs));
  return loads;
}

}  // namespace

TEST(parts_of_so_many_bytes_have_leaders_of_their_own) {
  const auto leaders = [](Index elements) {
    return planned({even(1, true, 4, 1, elements), even(1, false, 4, 1, elements)}, 4,
                   {Division::bytes, 800, 8});
  };
  CHECK_EQUAL(leaders(25).leaders(0).size(), std::size_t{1});
  CHECK_EQUAL(leaders(26).leaders(0).size(), std::size_t{2});
  CHECK_EQUAL(leaders(0).leaders(0).size(), std::size_t{1});
  CHECK_EQUAL(leaders(5000).leaders(0).size(), std::size_t{4});
  const RegionLoads three = leaders(62);
  for (const std::size_t pair : {0U, 1U}) {
    CHECK_EQUAL(three.leaders(pair).size(), std::size_t{3});
    CHECK_EQUAL(set_of(three.leaders(pair)).size(), std::size_t{3});
  }
}

TEST(a_pair_is_divided_where_its_bytes_would_keep_one_leader_busy) {
  // Small: one message. Large, and nothing else to send: as many as there are members. If each
  // member has a pair of that size to lead: one again.
  const RelayRules rules{Division::bytes, 0, 8};
  CHECK_EQUAL(planned({even(1, true, 4, 2, 4)}, 4, rules).leaders(0).size(), std::size_t{1});
  Profile wide = default_profile();  // no single rank fills a port
  wide.port_seconds_per_byte = wide.network().seconds_per_byte() / 16;
  RegionLoads large(4, 1, wide, rules);
  large.plan({even(1, true, 4, 2, 1'000'000)});
  CHECK_EQUAL(set_of(large.leaders(0)).size(), std::size_t{4});
  RegionLoads many(4, 1, wide, rules);
  many.plan({even(1, true, 4, 2, 1'000'000), even(2, true, 4, 2, 1'000'000),
             even(3, true, 4, 2, 1'000'000), even(4, true, 4, 2, 1'000'000)});
  std::set<int> all;
  for (std::size_t pair = 0; pair < 4; ++pair) {
    CHECK_EQUAL(many.leaders(pair).size(), std::size_t{1});
    all.insert(many.leaders(pair).front());
  }
  CHECK_EQUAL(all.size(), std::size_t{4});
}

TEST(bytes_that_processors_handle_are_divided_among_them) {
  // As above, but bytes keep the leader's processor busy. If all members share one processor,
  // dividing gains nothing.
  const RelayRules rules{Division::bytes, 0, 8};
  Profile profile = default_profile();
  profile.port_seconds_per_byte = 0;
  Protocol& largest = profile.levels[2].protocols.back();
  std::swap(largest.seconds_per_byte, largest.processor_seconds_per_byte);
  for (const double ranks_per_core : {1.0, 4.0, 8.0}) {
    RegionLoads loads(4, ranks_per_core, profile, rules);
    loads.plan({even(1, true, 4, 2, 1'000'000)});
    CHECK_EQUAL(loads.leaders(0).size(), std::size_t{ranks_per_core > 1 ? 1U : 4U});
  }
}

TEST(receivers_have_leaders_for_as_many_parts_as_may_come) {
  // The other side may divide its data among more leaders than this side would.
  const RelayRules rules{Division::bytes, 0, 8};
  Profile wide = default_profile();
  wide.port_seconds_per_byte = wide.network().seconds_per_byte() / 16;
  RegionLoads loads(4, 1, wide, rules);
  std::vector<RegionPair> pairs;
  for (int region = 1; region <= 4; ++region) pairs.push_back(even(region, false, 4, 2, 1'000'000));
  loads.plan(std::move(pairs));
  std::set<int> first;
  for (std::size_t pair = 0; pair < 4; ++pair) {
    CHECK_EQUAL(set_of(loads.leaders(pair)).size(), std::size_t{4});
    first.insert(loads.leaders(pair).front());
  }
  CHECK_EQUAL(first.size(), std::size_t{4});
}

TEST(pairs_have_leaders_of_their_own_while_there_are_enough) {
  std::vector<RegionPair> pairs;
  for (int region = 1; region <= 3; ++region) {
    pairs.push_back(even(region, true, 6, 2, 10 * region));
    pairs.push_back(even(region, false, 6, 2, 5 * region));
  }
  const RegionLoads loads = planned(pairs, 6, {Division::whole, 0, 8});
  std::set<int> all;
  for (std::size_t pair = 0; pair < pairs.size(); ++pair) all.insert(loads.leaders(pair).front());
  CHECK_EQUAL(all.size(), std::size_t{6});
}

TEST(who_leads_a_heavy_pair_leads_no_other_while_the_rest_is_light) {
  const std::vector<RegionPair> pairs{even(1, true, 2, 2, 10), even(2, true, 2, 2, 10'000'000),
                                      even(3, true, 2, 2, 10), even(4, true, 2, 2, 10)};
  const RegionLoads loads = planned(pairs, 2, {Division::whole, 0, 8});
  for (const std::size_t light : {0U, 2U, 3U}) {
    CHECK(loads.leaders(light).front() != loads.leaders(1).front());
  }
}

TEST(who_has_most_of_a_part_leads_it) {
  RegionPair pair{true, 1, Level::network, 4, {{0, 1, 5, 5}, {2, 1, 90, 90}, {3, 1, 5, 5}}};
  const RegionLoads loads = planned({pair}, 4, {Division::whole, 0, 8});
  CHECK_EQUAL(loads.leaders(0).front(), 2);
}

TEST(many_edges_of_many_ranks_are_relayed_and_large_ones_go_straight) {
  // Each rank has eight edges. With one element each, leaders reduce the load. With half a MiB, a
  // leader would have all data on one link, though eight links can carry them at once.
  const RelayRules rules{Division::whole, 0, 8};
  const RegionLoads small = planned({even(1, true, 8, 8, 8), even(1, false, 8, 8, 8)}, 8, rules);
  CHECK(small.state() == std::vector<Route>(2, Route::led));
  CHECK(small.times(0).relayed < small.times(0).straight);
  const RegionLoads large =
      planned({even(1, true, 8, 8, 1 << 19), even(1, false, 8, 8, 1 << 19)}, 8, rules);
  CHECK(large.state() == std::vector<Route>(2, Route::straight));
  CHECK(large.times(0).relayed > large.times(0).straight);
}

TEST(a_leader_that_would_be_the_bottleneck_is_not_made_one) {
  // 32 ranks have two edges each to one region, 64 KiB each. One leader would send 4 MiB while the
  // others wait, so the data must be divided or sent directly.
  const RegionLoads loads = planned({even(1, true, 32, 2, 8192), even(1, false, 32, 2, 8192)}, 32,
                                    {Division::whole, 0, 8});
  CHECK(loads.state() == std::vector<Route>(2, Route::straight));
}

TEST(a_rank_with_many_pairs_has_some_relayed_though_each_alone_would_go_straight) {
  // Each member has one edge to each of 12 regions. Relaying a pair of two members saves one
  // message, which alone is not worth two handovers; relaying all twelve is.
  std::vector<RegionPair> pairs;
  for (int region = 1; region <= 12; ++region) pairs.push_back(even(region, true, 4, 1, 1));
  const RegionLoads all = planned(pairs, 4, {Division::whole, 0, 8});
  CHECK(std::count(all.state().begin(), all.state().end(), Route::led) > 6);
}

TEST(overheads_and_bytes_of_many_messages_overlap_in_part) {
  // Sixteen messages of a rank: of the shorter of overhead and transfer time, a quarter counts.
  Profile profile = default_profile();
  profile.port_seconds_per_byte = 0;
  const LevelCost& cost = profile.network();
  for (const Index elements : {Index{16}, Index{160'000}}) {
    RegionLoads loads(1, 1, profile, {Division::whole, 0, 8});
    loads.plan({{true, 1, Level::network, 16, {{0, 16, elements, elements}}}});
    loads.set_state({Route::straight});
    const Protocol& protocol = cost.protocol(elements / 16 * 8);
    const double work = 16 * cost.send_overhead,
                 bytes = static_cast<double>(elements) * 8 * protocol.seconds_per_byte;
    CHECK((work > bytes) == (elements == 16));
    const double expected = std::max(work, bytes) + std::min(work, bytes) / 4 + protocol.latency;
    CHECK(std::abs(loads.seconds() - expected) < 1e-12);
  }
}

TEST(shared_cores_add_up_what_their_ranks_do) {
  // 8 ranks with an edge each: relaying gains nothing on separate cores; on one shared core, it
  // saves eight messages.
  const std::vector<RegionPair> pairs{even(1, true, 8, 1, 8), even(1, false, 8, 1, 8)};
  const RelayRules rules{Division::bytes, 0, 8};
  const RegionLoads shared = planned(pairs, 8, rules, 8);
  CHECK(shared.state() == std::vector<Route>(2, Route::led));
  const RegionLoads scarce = planned(pairs, 8, rules, 16);  // half a core for all of them
  CHECK(scarce.seconds() > 1.5 * shared.seconds());
}

TEST(the_state_found_is_close_to_the_best_of_all) {
  std::mt19937 random(11);
  double worst = 1, sum = 0;
  constexpr int rounds = 300;
  for (int round = 0; round < rounds; ++round) {
    const int members = 1 + static_cast<int>(random() % 6),
              count = 1 + static_cast<int>(random() % 6);
    const auto pairs = random_pairs(random, members, count);
    RegionLoads loads = planned(pairs, static_cast<std::size_t>(members), {Division::best, 0, 8},
                                random() % 3 == 0 ? 4 : 1);
    const double found = loads.seconds();
    double best = found;
    const int states = static_cast<int>(std::lround(std::pow(3, count)));
    for (int number = 0; number < states; ++number) {
      std::vector<Route> state;
      bool possible = true;
      for (int pair = 0, rest = number; pair < count; ++pair, rest /= 3) {
        state.push_back(static_cast<Route>(rest % 3));
        possible = possible && loads.possible(static_cast<std::size_t>(pair), state.back());
      }
      if (!possible) continue;
      loads.set_state(state);
      best = std::min(best, loads.seconds());
    }
    worst = std::max(worst, found / best);
    sum += found / best;
  }
  CHECK(sum / rounds < 1.003);
  CHECK(worst < 1.2);
}

TEST(the_state_found_is_no_worse_than_all_pairs_served_alike) {
  // Only the last pair switched to direct messages saves the handover, so changing pairs one by one
  // would find no gain.
  for (double handover = 1e-7; handover < 2e-5; handover *= 1.2) {
    Profile profile = default_profile();
    profile.handover = handover;
    for (const Index edges : {1, 2, 4}) {
      std::vector<RegionPair> pairs;
      for (int region = 1; region <= 4; ++region) pairs.push_back(even(region, true, 4, edges, 8));
      RegionLoads loads(4, 1, profile, {Division::best, 0, 8});
      loads.plan(pairs);
      const double found = loads.seconds();
      for (const Route route : {Route::straight, Route::led, Route::by_contributor}) {
        if (!loads.possible(0, route)) continue;
        loads.set_state(std::vector<Route>(pairs.size(), route));
        CHECK(found <= loads.seconds() * (1 + 1e-9));
      }
    }
  }
}

TEST(times_are_those_of_the_region_with_the_pair_served_either_way) {
  std::mt19937 random(12);
  for (int round = 0; round < 50; ++round) {
    const auto pairs = random_pairs(random, 4, 6);
    RegionLoads loads = planned(pairs, 4, {Division::bytes, 0, 8});
    const std::vector<Route> found = loads.state();
    for (std::size_t pair = 0; pair < pairs.size(); ++pair) {
      const auto seconds = [&](Route route) {
        std::vector<Route> state = found;
        state[pair] = route;
        loads.set_state(state);
        return loads.seconds() * 1e9;
      };
      CHECK(std::abs(seconds(Route::led) - static_cast<double>(loads.times(pair).relayed)) <= 1);
      CHECK(std::abs(seconds(Route::straight) - static_cast<double>(loads.times(pair).straight)) <=
            1);
    }
  }
}

TEST(contributors_lead_where_their_own_messages_are_the_cheapest) {
  // Four ranks have four edges each, with the same items, to as many receivers. If handovers are
  // expensive, each sends one message. If receivers are few, that many messages would overload
  // them.
  Profile profile = default_profile();
  profile.handover = 5e-6;
  const RegionPair many = even(1, true, 4, 4, 64);
  RegionPair few = many;
  few.receivers = 1;
  RegionLoads loads(4, 1, profile, {Division::best, 0, 8});
  loads.plan({many, even(1, false, 4, 4, 64)});
  CHECK(loads.by_contributor(0));
  CHECK_EQUAL(loads.leaders(0).size(), std::size_t{4});
  CHECK_EQUAL(set_of(loads.leaders(1)).size(),
              std::size_t{4});  // incoming messages may use this form, too
  profile.handover = default_profile().handover;
  profile.levels[2].receive_overhead = 20e-6;
  RegionLoads led(4, 1, profile, {Division::best, 0, 8});
  led.plan({few});
  CHECK(!led.by_contributor(0));
}

TEST(contributors_leave_it_to_leaders_where_handing_out_each_message_is_dear) {
  // Eight ranks on half a core, with data for each of eight. If each contributor sent its own
  // message, every receiver would have to see eight flags instead of one.
  Profile profile = default_profile();
  profile.handover = 1.5e-6;
  profile.levels[2].send_overhead = profile.levels[2].receive_overhead = 0.2e-6;
  RegionLoads loads(8, 16, profile, {Division::best, 0, 1});
  loads.plan({even(1, true, 8, 8, 64), even(1, false, 8, 8, 64)});
  CHECK(loads.state().front() == Route::led);
}

TEST(parts_go_by_what_messages_of_their_size_take) {
  // 4.6 kB take 1.8 us by their own protocol, and 0.4 us by that of the largest messages.
  const RegionLoads loads =
      planned({even(1, true, 8, 10, 72), even(1, false, 8, 10, 72)}, 8, {Division::bytes, 0, 8});
  CHECK(loads.leaders(0).size() > 1);
  const RegionLoads small =
      planned({even(1, true, 8, 1, 4), even(1, false, 8, 1, 4)}, 8, {Division::bytes, 0, 8});
  CHECK_EQUAL(small.leaders(0).size(), std::size_t{1});
}

TEST(what_comes_from_contributors_is_shared_out_whatever_goes_back) {
  // One rank sends little. In return, many may lead for themselves, and expect as many receivers.
  const RegionPair little{true, 1, Level::network, 4, {{2, 1, 1, 1}}};
  const RegionPair comes = even(1, false, 4, 3, 12);
  const RegionLoads loads = planned({little, comes}, 4, {Division::best, 0, 8});
  CHECK(!loads.by_contributor(0));
  CHECK_EQUAL(set_of(loads.leaders(1)).size(), std::size_t{4});
}

TEST(a_bias_moves_pairs_to_the_side_that_it_favours) {
  std::mt19937 random(13);
  Index relayed[3] = {};
  for (int round = 0; round < 60; ++round) {
    const auto pairs = random_pairs(random, 4, 6);
    int i = 0;
    for (const double bias : {0.5, 1.0, 2.0}) {
      const RegionLoads loads = planned(pairs, 4, {Division::bytes, 0, 8, bias});
      relayed[i++] += std::count(loads.state().begin(), loads.state().end(), Route::led);
    }
  }
  CHECK(relayed[0] > relayed[1]);
  CHECK(relayed[1] > relayed[2]);
}

TEST(a_pair_is_relayed_where_whichever_side_is_busier_gains) {
  CHECK(relaying_pays({900, 1000}, {900, 1000}));
  CHECK(!relaying_pays({1100, 1000}, {1100, 1000}));
  CHECK(relaying_pays({900, 1000}, {510, 500}));  // a side with little else to do may get more work
  CHECK(!relaying_pays({400, 500}, {1010, 1000}));
  CHECK(relaying_pays({1600, 1500},
                      {900, 7000}));  // so may a busy side, to keep the other from being busier
  CHECK(!relaying_pays({0, 0}, {0, 0}));
}

}  // namespace vicinal::region_loads_tests
