// Tests the share of a core that each rank has. Cores found on the machine count as those of a
// profile.
#include "cost/cores.hpp"

#include <cmath>
#include <memory>
#include <sstream>
#include <string>
#include <vector>

#include "../check.hpp"
#include "../random_patterns.hpp"
#include "cost/exchange_method.hpp"
#include "cost/price.hpp"
#include "cost/rounds.hpp"
#include "locality/machine.hpp"
#include "negotiate/virtual_ranks.hpp"
#include "plan/checks.hpp"
#include "planners/allgather/estimate.hpp"
#include "planners/tuna/estimate.hpp"

namespace vicinal::cores_tests {
namespace {

using Shares = std::vector<CoreShare>;

constexpr int ranks = 16;
constexpr int of_host = 8;

/// Hosts of 8 ranks, which are also regions, with the given number of cores.
std::shared_ptr<const Machine> machine_with(double cores) {
  std::vector<int> host_of;
  for (int rank = 0; rank < ranks; ++rank) host_of.push_back(rank / of_host);
  return std::make_shared<const Machine>(
      host_of, host_of, std::vector<int>(),
      Shares(static_cast<std::size_t>(ranks), CoreShare{cores, of_host}));
}

Profile with_cores(double cores) {
  Profile profile = default_profile();
  profile.cores = cores;
  return profile;
}

/// Returns all estimates for a machine, in seconds or picoseconds.
std::vector<double> estimates(const Machine& machine, const Profile& profile) {
  std::vector<double> all;
  for (const bool shared : {false, true}) {
    for (const Method method : {Method::personalized, Method::nonblocking, Method::locality,
                                Method::locality_personalized}) {
      all.push_back(static_cast<double>(exchange_time(method, machine, shared, profile)));
    }
    const std::vector<std::int64_t> bytes(static_cast<std::size_t>(machine.size()), 1000);
    for (const auto& it : allgather::estimate_all({machine, profile, bytes, shared})) {
      all.push_back(static_cast<double>(it.time));
    }
    for (const bool by_region : {false, true}) {
      all.push_back(
          tuna::best_scheme({machine, profile, 1000.0, 1000.0, 1.0, shared}, by_region, 0).seconds);
    }
  }
  return all;
}

std::vector<Plan> forward(const std::vector<Plans>& plans) {
  std::vector<Plan> result;
  for (const Plans& each : plans) result.push_back(each.forward);
  return result;
}

std::string text_of(const std::vector<Plans>& plans) {
  std::ostringstream text;
  for (const Plans& each : plans) write_text(text, each.forward);
  return text.str();
}

}  // namespace

TEST(ranks_share_the_cpus_that_they_may_run_on) {
  const auto shares = [](const std::vector<int>& node_of, const std::vector<CpuClaim>& claims) {
    return core_shares(node_of, claims);
  };
  // All ranks on the same two CPUs; each bound to its own; two bound to one.
  CHECK((shares({0, 0, 0, 0}, {{2, 7}, {2, 7}, {2, 7}, {2, 7}}) == Shares(4, {2, 4})));
  CHECK((shares({0, 0}, {{1, 7}, {1, 8}}) == Shares(2, {2, 2})));
  CHECK((shares({0, 0, 0, 0}, {{1, 7}, {1, 7}, {1, 8}, {1, 9}}) == Shares(4, {3, 4})));
  // At most one core per rank; nodes are independent, in any rank order; one core if nothing is
  // known.
  CHECK((shares({0, 0}, {{64, 7}, {64, 7}}) == Shares(2, {2, 2})));
  CHECK((shares({0, 1, 0}, {{1, 7}, {1, 7}, {1, 7}}) == Shares{{1, 2}, {1, 1}, {1, 2}}));
  CHECK((shares({0, 0}, {{0, 0}, {0, 0}}) == Shares(2, {2, 2})));
  // The value given by the lowest rank of a node applies to that node only; 0 means one core for
  // each rank.
  CHECK(
      (shares({0, 1, 0}, {{1, 7, 0.5}, {1, 7}, {1, 7, 8}}) == Shares{{0.5, 2}, {1, 1}, {0.5, 2}}));
  CHECK((shares({0, 0}, {{1, 7, 0}, {1, 7}}) == Shares(2, {2, 2})));
  CHECK(shares({}, {}).empty());
}

TEST(machines_know_the_cores_of_their_hosts) {
  const Machine known({0, 0, 1}, {0, 0, 1}, {}, {{0.5, 2}, {0.5, 2}, {1, 1}});
  CHECK_EQUAL(known.cores_on(0), 0.5);
  CHECK_EQUAL(known.cores_on(1), 1.0);
  CHECK_EQUAL(shared_cores(known, 0, default_profile()), 0.5);
  CHECK_EQUAL(shared_cores(known, 1, default_profile()), 0.0);
  // The profile's value takes precedence. LogGP has no cores.
  CHECK_EQUAL(shared_cores(known, 0, with_cores(2)), 0.0);
  CHECK_EQUAL(shared_cores(known, 1, with_cores(0.75)), 0.75);
  Profile loggp = default_profile();
  loggp.gap = 1e-7;
  CHECK_EQUAL(shared_cores(known, 0, loggp), 0.0);
  CHECK_EQUAL(shared_cores(Machine({0, 0, 1}, {0, 0, 1}), 0, default_profile()), 0.0);
  CHECK_THROWS(Fault::topology, Machine({0, 0, 1}, {0, 0, 1}, {}, {{}, {}}),
               "hosts for 3 ranks but shares of cores for 2");
}

/// Ranks of one node, of which the first `together` share memory.
Machine node(double cores, int members, int together) {
  std::vector<int> host_of;
  for (int rank = 0; rank < members; ++rank) host_of.push_back(rank < together ? 0 : rank);
  return Machine(host_of, host_of, {},
                 Shares(static_cast<std::size_t>(members), CoreShare{cores, members}));
}

TEST(no_rounding_makes_a_core_more) {
  const auto cores_of = [](const Machine& machine) {
    return deal_cores(machine, default_profile()).cores;
  };
  for (int members = 2; members <= 256; ++members) {
    for (int cores = 1; cores < members; ++cores) {
      const Machine whole = node(cores, members, members);
      CHECK_EQUAL(whole.cores_on(0), cores);
      const std::vector<Core> dealt = cores_of(whole);
      CHECK_EQUAL(static_cast<int>(dealt.size()), cores);
      CHECK(dealt.front().speed == 1 && dealt.front().shared);
    }
  }
  CHECK_EQUAL(node(0.1, 3, 3).cores_on(0), 0.1);
  // A host that is part of a node has the same part of its cores: 3 of 9 ranks, 7 of 49.
  CHECK_EQUAL(node(6, 9, 3).cores_on(0), 2.0);
  CHECK_EQUAL(node(7, 49, 7).cores_on(0), 1.0);
  CHECK_EQUAL(cores_of(node(6, 9, 3)).size(), std::size_t{2 + 6});
}

TEST(cores_are_dealt_out_in_turn) {
  const Machine machine({0, 0, 0, 1, 1, 0}, {0, 0, 0, 1, 1, 0}, {},
                        {{1.5, 4}, {1.5, 4}, {1.5, 4}, {2, 2}, {2, 2}, {1.5, 4}});
  const DealtCores dealt = deal_cores(machine, default_profile());
  CHECK((dealt.of_rank == std::vector<int>{0, 1, 0, 2, 3, 1}));
  for (const int core : {0, 1}) {
    CHECK(dealt.cores[static_cast<std::size_t>(core)].shared);
    CHECK_EQUAL(dealt.cores[static_cast<std::size_t>(core)].speed, 0.75);
  }
  for (const int core : {2, 3}) CHECK(!dealt.cores[static_cast<std::size_t>(core)].shared);
}

TEST(rounds_add_up_what_ranks_do_on_shared_cores) {
  const Machine machine({0, 0, 0, 0}, {0, 0, 0, 0});
  const auto finished = [&](double cores) {
    Profile profile = with_cores(cores);
    profile.copy_seconds_per_byte = 0;
    Rounds rounds(machine, profile);
    rounds.send(1, 0, Rounds::Transfer::slot, 1, 1);
    rounds.take(0, 1, Rounds::Transfer::slot, 1, 1);
    rounds.take(2, 3, Rounds::Transfer::slot, 1, 1);
    rounds.end_round();
    return rounds.seconds() / profile.handover;
  };
  // Ranks 0 and 2 may share a core: each needs it to see its flag.
  CHECK(std::abs(finished(4) - 1) < 1e-9);
  CHECK(std::abs(finished(2) - 1) < 1e-9);
  CHECK(std::abs(finished(1) - 2) < 1e-9);
  CHECK(std::abs(finished(0.5) - 4) < 1e-9);
}

TEST(cores_of_the_machine_count_as_those_of_a_profile) {
  const auto alone = machine_with(of_host);
  int changed = 0;
  for (const double cores : {0.5, 0.7, 2.0, 3.0}) {
    const auto crowded = machine_with(cores);
    const auto said = estimates(*alone, with_cores(cores));
    CHECK(estimates(*crowded, default_profile()) == said);
    CHECK(estimates(*alone, default_profile()) != said);
    const Planner& automatic = find_planner("automatic");
    PlanOptions options;
    options.profile = with_cores(cores);
    for (unsigned seed = 0; seed < 8; ++seed) {
      const auto patterns = testing::RandomPatterns(seed).make(ranks, false);
      const auto found = plan_virtually(automatic, crowded, patterns, {});
      const auto told = plan_virtually(automatic, alone, patterns, options);
      CHECK_EQUAL(text_of(found), text_of(told));
      CHECK_EQUAL(price(forward(found), *crowded, default_profile(), 8).seconds,
                  price(forward(told), *alone, with_cores(cores), 8).seconds);
      changed += text_of(found) != text_of(plan_virtually(automatic, alone, patterns, {})) ? 1 : 0;
    }
  }
  CHECK(changed > 0);
}

}  // namespace vicinal::cores_tests
