// Tests whether `automatic` forwards between regions, by the price of the plans.
#include <algorithm>
#include <cmath>
#include <iostream>
#include <random>
#include <string>
#include <vector>

#include "allgathers.hpp"
#include "alltoalls.hpp"
#include "block_graphs.hpp"
#include "check.hpp"
#include "cost/price.hpp"
#include "made_up_profiles.hpp"
#include "negotiate/planner.hpp"
#include "negotiate/virtual_ranks.hpp"
#include "plan/checks.hpp"

namespace vicinal::cascade_choice_tests {
namespace {

using testing::block_machine;
using testing::block_patterns;
using testing::random_graph;
using testing::with_network;

using SharedMachine = std::shared_ptr<const Machine>;

struct Planned {
  std::vector<Plan> plans;
  std::string reason;
  double seconds = 0;
  [[nodiscard]] std::string planner() const { return plans.front().planner; }
};

Planned planned(const char* planner, const SharedMachine& machine,
                const std::vector<Pattern>& patterns, const PlanOptions& options) {
  Planned result;
  for (Plans& each : plan_virtually(find_planner(planner), machine, patterns, options)) {
    result.reason = each.reason;
    result.plans.push_back(std::move(each.forward));
  }
  result.seconds = price(result.plans, *machine, options.profile, options.element_bytes).seconds;
  return result;
}

PlanOptions options_of(const Profile& profile, Index bytes) {
  PlanOptions options;
  options.profile = profile;
  options.element_bytes = bytes;
  return options;
}

std::vector<Pattern> graph_of(const SharedMachine& machine, double density) {
  return block_patterns(random_graph(machine->size(), density, 5), [](int) { return Index{1}; });
}

}  // namespace

TEST(automatic_passes_on_between_regions_where_that_has_about_the_least_price) {
  testing::skip_if_sanitized();
  const std::vector<Profile> profiles{
      default_profile(), with_network(default_profile(), "cluster", 5e-6, 3e-6, 5e-10, 5e-10, 0),
      with_network(default_profile(), "fast fabric", 1e-6, 0.3e-6, 1e-10, 5e-11, 0),
      with_network(default_profile(), "cluster by processors", 5e-6, 3e-6, 5e-10, 3e-10, 0, 0.4)};
  for (const Profile& profile : profiles) {
    double worst = 0, most_gained = 0, sum = 0;
    int cases = 0;
    for (const auto& machine : {block_machine(64, 1, 1), block_machine(24, 1, 1),
                                block_machine(64, 2, 2), block_machine(128, 4, 4)}) {
      for (const double density : {0.1, 0.3, 0.7}) {
        const auto patterns = graph_of(machine, density);
        for (const Index bytes : {8, 512, 4096}) {
          PlanOptions options = options_of(profile, bytes);
          const Planned chosen = planned("automatic", machine, patterns, options);
          const double cascade = planned("cascade", machine, patterns, options).seconds;
          options.bias = *Bias::read("cascade:1000");
          const double relays = planned("automatic", machine, patterns, options).seconds;
          worst = std::max(worst, chosen.seconds / relays);
          most_gained = std::max(most_gained, relays / chosen.seconds);
          const double regret = chosen.seconds / std::min(relays, cascade);
          sum += std::log(regret);
          ++cases;
          if (regret > 1.2) {
            std::cout << "    " << profile.name << ", " << machine->regions() << " regions, "
                      << machine->size() << " ranks, density " << density << ", " << bytes
                      << " B: " << chosen.planner() << " takes " << chosen.seconds * 1e6
                      << ", relays " << relays * 1e6 << ", cascade " << cascade * 1e6 << '\n';
          }
        }
      }
    }
    std::cout << "  " << profile.name << ": at most " << worst << " times as long as relays, and "
              << most_gained << " times as fast; " << std::exp(sum / cases)
              << " times the best in the geometric mean\n";
    CHECK(worst <= 1.2);
    CHECK(most_gained >= 2.5);
    CHECK(std::exp(sum / cases) <= 1.08);
  }
}

TEST(
    edges_that_carry_nothing_and_elements_of_one_edge_alone_do_not_make_automatic_pass_on_in_vain) {
  std::mt19937 random(9);
  for (const auto& machine : {block_machine(64, 1, 1), block_machine(128, 4, 4)}) {
    const int size = machine->size();
    // One of 16 edges, one of three, and all of them.
    for (const int part : {16, 3, 1}) {
      std::vector<Index> counts(static_cast<std::size_t>(size) * static_cast<std::size_t>(size));
      for (Index& it : counts) it = random() % static_cast<unsigned>(part) == 0 ? 1 : 0;
      const auto patterns = testing::alltoall_patterns(size, 0, [&](int from, int to) {
        return counts[static_cast<std::size_t>(from) * static_cast<std::size_t>(size) +
                      static_cast<std::size_t>(to)];
      });
      for (const Index bytes : {8, 512, 2048}) {
        PlanOptions options = options_of(default_profile(), bytes);
        const Planned chosen = planned("automatic", machine, patterns, options);
        options.bias = *Bias::read("cascade:1000");
        const double relays = planned("automatic", machine, patterns, options).seconds;
        std::cout << "  " << machine->regions() << " regions, an edge of " << part << ", " << bytes
                  << " B: " << chosen.planner() << " takes " << chosen.seconds / relays
                  << " times as long as relays\n";
        CHECK(chosen.seconds <= 1.2 * relays);
      }
    }
  }
}

TEST(a_bias_for_relays_keeps_automatic_from_passing_on) {
  const auto machine = block_machine(48, 1, 1);
  const auto patterns = graph_of(machine, 0.6);
  PlanOptions options = options_of(default_profile(), 8);
  for (const char* const text : {"direct:0.01", "split:0.01", "cascade:100"}) {
    options.bias = *Bias::read(text);
    CHECK_EQUAL(planned("automatic", machine, patterns, options).planner(),
                std::string("automatic"));
  }
  options.bias = Bias();
  options.radix = 3;
  CHECK(planned("automatic", machine, patterns, options)
            .reason.starts_with("by the profile, passing on takes"));
}

TEST(what_is_passed_on_by_automatic_is_right) {
  for (const int per_region : {1, 2}) {
    const auto machine = block_machine(48, per_region, per_region);
    const auto patterns = graph_of(machine, 0.6);
    const PlanOptions options = options_of(default_profile(), 8);
    const Planned chosen = planned("automatic", machine, patterns, options);
    CHECK_EQUAL(chosen.planner(), std::string("cascade"));
    CHECK(chosen.reason.find("us with a message for each region") != std::string::npos);
    verify(chosen.plans, patterns);
    // Partitions would wait for others. Blocks of unknown size may be large, where forwarding does
    // not pay.
    for (const bool partitioned : {true, false}) {
      PlanOptions other = options;
      other.partitioned = partitioned;
      other.any_size = !partitioned;
      CHECK_EQUAL(planned("automatic", machine, patterns, other).planner(),
                  std::string("automatic"));
    }
    CHECK_EQUAL(
        planned("automatic", machine, patterns, options_of(default_profile(), 1 << 20)).planner(),
        std::string("automatic"));
  }
}

}  // namespace vicinal::cascade_choice_tests
