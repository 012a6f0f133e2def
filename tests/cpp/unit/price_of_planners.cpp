// Tests properties of the price of plans, over random patterns and machines and every planner.
#include <algorithm>
#include <cmath>
#include <numeric>
#include <sstream>

#include "../check.hpp"
#include "../random_patterns.hpp"
#include "cost/price.hpp"
#include "negotiate/virtual_ranks.hpp"

namespace vicinal::price_of_planners_tests {

namespace {

void require_whole(const std::vector<Plan>& plans, const Machine& machine, const Profile& profile) {
  const Price found = price(plans, machine, profile, 8);
  const bool works = std::any_of(plans.begin(), plans.end(),
                                 [](const Plan& it) { return !it.operations.empty(); });
  CHECK(works == (found.seconds > 0));
  const double sum = std::accumulate(found.phases.begin(), found.phases.end(), 0.0);
  CHECK(std::abs(sum - found.seconds) <= 1e-12 * found.seconds);
  CHECK(std::all_of(found.phases.begin(), found.phases.end(), [](double it) { return it >= 0; }));
  CHECK_EQUAL(*std::max_element(found.finished.begin(), found.finished.end()), found.seconds);
  const double most = *std::max_element(found.busy.begin(), found.busy.end());
  CHECK_EQUAL(found.busy[found.busiest], most);
  CHECK(most <= found.seconds * (1 + 1e-12));
  const Price again = price(plans, machine, profile, 8);
  CHECK(again.seconds == found.seconds && again.phases == found.phases &&
        again.busy == found.busy && again.finished == found.finished);
}

std::vector<Plan> plans_by(const Planner& planner, const std::shared_ptr<const Machine>& machine,
                           const std::vector<Pattern>& patterns) {
  std::vector<Plan> result;
  for (const Plans& each : plan_virtually(planner, machine, patterns, {})) {
    result.push_back(each.forward);
  }
  return result;
}

}  // namespace

TEST(prices_of_all_planners) {
  std::vector<Profile> profiles = {default_profile(), default_profile(), default_profile()};
  profiles[1].search = 1e-7;
  for (LevelCost& level : profiles[1].levels) level.protocols[0].rendezvous = true;
  profiles[2].cores = 1.5;
  for (unsigned seed = 0; seed < 20; ++seed) {
    testing::RandomPatterns random(seed);
    const int ranks = random.between(1, 16);
    const auto [machine, regions] = random.machine(ranks);
    const auto patterns = random.make(ranks, seed % 2 == 0);
    for (const Planner& planner : planners()) {
      if (!serves(planner, {})) continue;
      try {
        const auto plans = plans_by(planner, machine, patterns);
        for (const Profile& profile : profiles) require_whole(plans, *machine, profile);
      } catch (const std::exception& error) {
        std::ostringstream text;
        text << planner.name << ", seed " << seed << ", regions " << regions << ": "
             << error.what();
        throw std::runtime_error(text.str());
      }
    }
  }
}

TEST(components_that_share_nothing_cost_what_the_dearest_costs) {
  constexpr int each = 6;
  constexpr int parts = 3;
  Profile profile = default_profile();
  profile.search = 1e-7;
  for (unsigned seed = 0; seed < 5; ++seed) {
    testing::RandomPatterns random(seed);
    std::vector<Plan> together;
    std::vector<int> hosts;
    double dearest = 0;
    for (int part = 0; part < parts; ++part) {
      const auto machine = std::make_shared<const Machine>(std::vector{0, 0, 0, 1, 1, 1},
                                                           std::vector{0, 0, 0, 1, 1, 1});
      const auto plans = plans_by(find_planner("aggregate"), machine, random.make(each, true));
      dearest = std::max(dearest, price(plans, *machine, profile, 8).seconds);
      for (Plan plan : plans) {
        plan.rank += part * each;
        plan.size = parts * each;
        for (Buffer& buffer : plan.buffers) {
          if (buffer.owner >= 0) buffer.owner += part * each;
        }
        for (Operation& it : plan.operations) {
          if (it.peer >= 0) it.peer += part * each;
        }
        hosts.push_back(2 * part + machine->host_of(plan.rank % each));
        together.push_back(std::move(plan));
      }
    }
    CHECK_EQUAL(price(together, Machine(hosts, hosts), profile, 8).seconds, dearest);
  }
}

}  // namespace vicinal::price_of_planners_tests
