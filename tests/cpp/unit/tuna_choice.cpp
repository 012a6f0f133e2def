// Tests which radix is chosen, and whether `automatic` stores and forwards, by the price of the
// plans.
#include <algorithm>
#include <cmath>
#include <iostream>
#include <map>
#include <sstream>
#include <string>
#include <tuple>
#include <utility>

#include "alltoalls.hpp"
#include "check.hpp"
#include "cost/price.hpp"
#include "made_up_profiles.hpp"

namespace vicinal::tuna_choice_tests {
namespace {

using namespace testing;
using SharedMachine = std::shared_ptr<const Machine>;

Profile profile(const char* name, double latency, double overhead, double seconds_per_byte,
                double port, double cores, double of_processors = 0) {
  return with_network(default_profile(), name, latency, overhead, seconds_per_byte, port, cores,
                      of_processors);
}

std::vector<Profile> profiles() {
  return {
      default_profile(),
      profile("cluster", 5e-6, 3e-6, 5e-10, 5e-10, 0),
      profile("fast fabric", 1e-6, 0.3e-6, 1e-10, 5e-11, 0),
      profile("TCP, two cores for each host", 20e-6, 3e-6, 1e-9, 1e-9, 2),
      profile("cluster by processors", 5e-6, 3e-6, 5e-10, 3e-10, 0, 0.4),
      profile("TCP by processors, half a core for each host", 2e-6, 7e-6, 7e-10, 3e-10, 0.5, 0.9)};
}

struct Planned {
  double seconds = 0;
  std::string planner;
  std::string reason;
};

std::vector<Plan> forward_plans(const std::vector<Plans>& all) {
  std::vector<Plan> plans;
  for (const Plans& each : all) plans.push_back(each.forward);
  return plans;
}

Planned planned(const char* planner, const SharedMachine& machine,
                const std::vector<Pattern>& patterns, const PlanOptions& options) {
  const auto all = plan_virtually(find_planner(planner), machine, patterns, options);
  const std::vector<Plan> plans = forward_plans(all);
  return {price(plans, *machine, options.profile, options.element_bytes).seconds,
          plans.front().planner, all.front().reason};
}

/// Returns options for one element for each pair of ranks.
PlanOptions with_blocks_of(Index bytes, const Profile& profile, int radix = 0) {
  PlanOptions options = alltoall_options(true, radix);
  options.profile = profile;
  options.element_bytes = bytes;
  return options;
}

/// Plans an equal exchange with the default profile.
Planned planned(const char* planner, const SharedMachine& machine, Index bytes, int radix = 0) {
  return planned(planner, machine, equal_alltoall(machine->size(), 1),
                 with_blocks_of(bytes, default_profile(), radix));
}

/// Exchanges of one element for each pair of ranks, with given radices. Their plans do not depend
/// on the profile or the blocks.
class Forced {
 public:
  explicit Forced(SharedMachine machine)
      : machine_(std::move(machine)), patterns_(equal_alltoall(machine_->size(), 1)) {}

  double seconds(const char* planner, int radix, PlanOptions options) {
    options.radix = radix;
    const auto [place, is_new] = plans_.try_emplace({planner, radix, options.shared_memory});
    if (is_new) {
      place->second =
          forward_plans(plan_virtually(find_planner(planner), machine_, patterns_, options));
    }
    return price(place->second, *machine_, options.profile, options.element_bytes).seconds;
  }

  [[nodiscard]] const SharedMachine& machine() const { return machine_; }
  [[nodiscard]] const std::vector<Pattern>& patterns() const { return patterns_; }

 private:
  SharedMachine machine_;
  std::vector<Pattern> patterns_;
  std::map<std::tuple<std::string, int, bool>, std::vector<Plan>> plans_;
};

/// Prices of the chosen plans relative to alternatives.
struct Regret {
  double relays = 0;   ///< relative to `automatic` without forwarding
  double planner = 0;  ///< relative to the best of that, tuna and tuna-hierarchical
  double radix = 0;    ///< relative to the best of several radices
};

Regret regret_on(Forced& forced, const PlanOptions& options) {
  const SharedMachine& machine = forced.machine();
  const auto& patterns = forced.patterns();
  const Planned chosen = planned("automatic", machine, patterns, options);
  PlanOptions incomplete = options;
  incomplete.complete = false;
  incomplete.bias = *Bias::read("cascade:1000");
  const double relays = planned("automatic", machine, patterns, incomplete).seconds;
  std::ostringstream text;
  double best = relays;
  Regret regret;
  for (const char* const tuna : {"tuna", "tuna-hierarchical"}) {
    const Planned by_model = planned(tuna, machine, patterns, options);
    best = std::min(best, by_model.seconds);
    double least = by_model.seconds;
    text << "    " << tuna << ' ' << by_model.seconds * 1e6 << " (" << by_model.reason << "):";
    for (const int radix : {2, 3, 4, 6, 8, 16, machine->size()}) {
      const double seconds = forced.seconds(tuna, radix, options);
      text << ' ' << radix << ": " << seconds * 1e6;
      least = std::min(least, seconds);
    }
    text << '\n';
    regret.radix = std::max(regret.radix, by_model.seconds / least);
  }
  regret.relays = chosen.seconds / relays;
  regret.planner = chosen.seconds / best;
  if (regret.planner > 1.1 || regret.radix > 1.1 || regret.relays > 1) {
    std::cout << "    " << chosen.planner << " takes " << chosen.seconds * 1e6 << ", relays "
              << relays * 1e6 << " (" << chosen.reason << ")\n"
              << text.str();
  }
  return regret;
}

}  // namespace

TEST(exchanges_between_all_ranks_go_by_a_planner_with_about_the_least_price) {
  testing::skip_if_sanitized();
  std::vector<std::pair<std::string, Forced>> machines{
      {"1 x 8", Forced(block_machine(8, 8, 8))},
      {"4 x 8", Forced(block_machine(32, 8, 8))},
      {"16 x 4", Forced(block_machine(64, 4, 4))},
      {"64 x 1", Forced(block_machine(64, 1, 1))},
      {"13 x 1", Forced(block_machine(13, 1, 1))},
      {"32 x 2", Forced(block_machine(64, 2, 2))},
      {"7 of 5, 1 of 3", Forced(block_machine(38, 5, 5))}};
  const std::vector<Index> sizes = testing::everything()
                                       ? std::vector<Index>{8, 64, 512, 4096, 65536}
                                       : std::vector<Index>{8, 512, 65536};
  for (const Profile& profile : profiles()) {
    for (const bool shared : {true, false}) {
      Regret worst;
      for (auto& [name, forced] : machines) {
        for (const Index bytes : sizes) {
          PlanOptions options = with_blocks_of(bytes, profile);
          options.shared_memory = shared;
          const Regret regret = regret_on(forced, options);
          if (regret.planner > 1.1 || regret.radix > 1.1 || regret.relays > 1) {
            std::cout << "      that is " << profile.name << (shared ? ", " : " by messages, ")
                      << name << ", " << bytes << " B\n";
          }
          worst.relays = std::max(worst.relays, regret.relays);
          worst.planner = std::max(worst.planner, regret.planner);
          worst.radix = std::max(worst.radix, regret.radix);
        }
      }
      std::cout << "  " << profile.name << (shared ? "" : " by messages")
                << ": the worst choice takes " << worst.relays << " times as long as relays, and "
                << worst.planner << " times as the best; the worst radix " << worst.radix
                << " times\n";
      CHECK(worst.relays <= 1.01);
      CHECK(worst.planner <= 3);
      CHECK(worst.radix <= 1.5);
    }
  }
}

TEST(small_blocks_are_forwarded_and_large_ones_are_not) {
  const auto machine = block_machine(64, 1, 1);
  const Planned small = planned("automatic", machine, 8);
  CHECK_EQUAL(small.planner, std::string("tuna"));
  CHECK(small.reason.starts_with("by the profile, with blocks of 8.0 bytes, it takes"));
  CHECK(small.seconds < planned("direct", machine, 8).seconds);
  const Planned large = planned("automatic", machine, 1 << 20);
  CHECK_EQUAL(large.planner, std::string("automatic"));
  // The radix for large blocks is one that forwards nothing.
  CHECK_EQUAL(planned("tuna", machine, 1 << 20).seconds,
              planned("tuna", machine, 1 << 20, 64).seconds);
}

TEST(exchanges_with_few_blocks_are_not_forwarded) {
  const int size = 64;
  const auto machine = block_machine(size, 1, 1);
  const auto patterns = alltoall_patterns(size, 0, [&](int from, int to) {
    const int distance = (to - from + size) % size;
    return Index{distance <= 2 || distance >= size - 2 ? 1 : 0};
  });
  const PlanOptions options = with_blocks_of(8, default_profile());
  const Planned chosen = planned("automatic", machine, patterns, options);
  CHECK_EQUAL(chosen.planner, std::string("automatic"));
  CHECK(chosen.seconds < planned("tuna", machine, patterns, options).seconds);
}

TEST(one_rank_with_large_blocks_keeps_those_of_others_from_being_forwarded) {
  const int size = 64;
  const auto machine = block_machine(size, 1, 1);
  for (const bool sends : {false, true}) {
    const auto patterns = alltoall_patterns(
        size, 0, [&](int from, int to) { return Index{(sends ? from : to) == 40 ? 4000 : 1}; });
    const PlanOptions options = with_blocks_of(8, default_profile());
    const Planned chosen = planned("automatic", machine, patterns, options);
    CHECK_EQUAL(chosen.planner, std::string("automatic"));
    // As if all ranks had the average amount.
    const PlanOptions as_small = with_blocks_of(8, default_profile(), 4);
    CHECK(chosen.seconds < planned("tuna", machine, patterns, as_small).seconds);
  }
}

TEST(what_ranks_of_a_host_share_is_judged_by_what_they_have_together) {
  const auto machine = block_machine(32, 8, 8);
  Profile slow = profile("TCP, half a core for each host", 100e-6, 7e-6, 1e-9, 1e-9, 0.5);
  slow.handover = 1.5e-6;
  // One rank has several times as much as the others.
  for (const Index most : {Index{2}, Index{4}, Index{8}}) {
    const auto patterns =
        alltoall_patterns(32, 0, [&](int from, int /*to*/) { return from == 9 ? most : Index{1}; });
    for (const Index bytes : {Index{64}, Index{512}, Index{1024}, Index{2048}}) {
      const PlanOptions options = with_blocks_of(bytes, slow);
      PlanOptions incomplete = options;
      incomplete.complete = false;
      incomplete.bias = *Bias::read("cascade:1000");
      double best = planned("automatic", machine, patterns, incomplete).seconds;
      for (const char* const tuna : {"tuna", "tuna-hierarchical"}) {
        best = std::min(best, planned(tuna, machine, patterns, options).seconds);
      }
      const Planned chosen = planned("automatic", machine, patterns, options);
      std::cout << "  " << most << " times as much, " << bytes << " B: " << chosen.planner
                << " takes " << chosen.seconds / best << " times as long as the best\n";
      CHECK(chosen.seconds <= (most > 4 ? 1.3 : 1.15) * best);
    }
  }
}

TEST(a_bias_decides_whether_blocks_are_forwarded) {
  const auto machine = block_machine(64, 1, 1);
  const auto by = [&](const char* bias) {
    PlanOptions options = with_blocks_of(8, default_profile());
    options.bias = *Bias::read(bias);
    return planned("automatic", machine, equal_alltoall(64, 1), options).planner;
  };
  CHECK_EQUAL(by("direct:0.01"), std::string("automatic"));
  CHECK_EQUAL(by("tuna:100,tuna-hierarchical:100"), std::string("automatic"));
  CHECK_EQUAL(by("tuna-hierarchical:0.5"), std::string("tuna-hierarchical"));
}

TEST(exchanges_in_partitions_of_few_ranks_and_of_blocks_of_any_size_are_not_forwarded) {
  PlanOptions options = alltoall_options(true, 0);
  for (const int size : {1, 2, 3}) {
    const auto plans =
        planned_alltoall("automatic", block_machine(size, 1, 1), equal_alltoall(size, 1), options);
    CHECK_EQUAL(plans.front().planner, std::string("automatic"));
  }
  const auto forwarded = [](const PlanOptions& given) {
    const auto plans =
        planned_alltoall("automatic", block_machine(64, 1, 1), equal_alltoall(64, 1), given);
    return plans.front().planner != "automatic";
  };
  CHECK(forwarded(options));
  PlanOptions partitioned = options, guessed = options;
  partitioned.partitioned = true;
  guessed.any_size = true;
  CHECK(!forwarded(partitioned));
  CHECK(!forwarded(guessed));
}

}  // namespace vicinal::tuna_choice_tests
