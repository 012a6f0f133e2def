// Tests plans that are proved by their ranks. Correct plans pass. Each rank of a component learns
// of a wrong plan, and no rank of another component.
#include "negotiate/proof.hpp"

#include <algorithm>
#include <string>
#include <vector>

#include "../check.hpp"
#include "../random_patterns.hpp"
#include "negotiate/virtual_ranks.hpp"

namespace vicinal::proof_tests {

namespace {

/// The ranks of a graph, with their plans.
struct Ranks {
  std::vector<Pattern> patterns;
  std::vector<Neighborhood> neighborhoods;
  std::vector<Plans> plans;

  Ranks(const std::string& planner, std::vector<Pattern> all, const std::string& regions,
        bool with_reverse)
      : patterns(std::move(all)) {
    const auto size = static_cast<int>(patterns.size());
    DetectedPlaces places{
        std::vector<int>(patterns.size(), 0), std::vector<int>(patterns.size(), 0), {}};
    const auto machine =
        std::make_shared<const Machine>(read_regions(regions, places), places.node_of);
    neighborhoods = run_virtual<Neighborhood>(size, [&](int rank, Conversation& talk) {
      const Pattern& pattern = patterns[static_cast<std::size_t>(rank)];
      std::vector<int> sources, destinations;
      for (const InEdge& edge : pattern.in) sources.push_back(edge.rank);
      for (const OutEdge& edge : pattern.out) destinations.push_back(edge.rank);
      return make_neighborhood(talk, machine, rank, std::move(sources), std::move(destinations));
    });
    PlanOptions options;
    options.with_reverse = with_reverse;
    plans = plan_virtually(find_planner(planner), machine, patterns, options);
  }

  /// Returns the outcome of each rank; "idle" for a rank without edges, which does not participate.
  std::vector<std::string> prove_all(int failed_rank = -1) const {
    return run_virtual<std::string>(
        static_cast<int>(patterns.size()),
        [&](int rank, Conversation& talk) { return outcome(rank, talk, rank == failed_rank); });
  }

 private:
  Task<std::string> outcome(int rank, Conversation& talk, bool faulty) const {
    const auto i = static_cast<std::size_t>(rank);
    if (!neighborhoods[i].has_edges()) co_return "idle";
    try {
      std::optional<Error> fault;
      if (faulty) fault = Error(Fault::memory, "no slot to be had");
      co_await prove(talk, neighborhoods[i], plans[i], patterns[i], fault);
    } catch (const Error& error) {
      if (!error.is_on_all_ranks()) throw;
      co_return std::string(name(error.fault())) + ": " + error.what();
    }
    co_return "";
  }
};

/// Ranks 0 to 4 exchange all with all, and so do ranks 5 to 8; rank 9 has no edges.
std::vector<Pattern> two_components() {
  std::vector<Pattern> patterns(10);
  for (const auto& [first, last] : {std::pair(0, 4), std::pair(5, 8)}) {
    for (int rank = first; rank <= last; ++rank) {
      Pattern& pattern = patterns[static_cast<std::size_t>(rank)];
      pattern.identity = true;
      for (int other = first; other <= last; ++other) {
        pattern.out.push_back({other, {{0, 0, 2}}});
        pattern.in.push_back({other, 2, {{0, (other - first) * 2, 2}}});
      }
    }
  }
  return patterns;
}

std::int64_t count_of(const std::vector<std::string>& outcomes, const std::string& part) {
  return std::count_if(outcomes.begin(), outcomes.end(), [&](const std::string& outcome) {
    return outcome.find(part) != std::string::npos;
  });
}

}  // namespace

TEST(right_plans_are_proved_by_their_ranks) {
  for (unsigned seed = 0; seed < 12; ++seed) {
    testing::RandomPatterns random(seed);
    const int size = random.between(1, 20);
    const bool identity = random.chance(0.5);
    const std::string regions = "blocks:" + std::to_string(random.between(1, size));
    for (const char* planner :
         {"direct", "aggregate", "split", "common-neighbor", "distance-halving-pruned"}) {
      const Ranks ranks(planner, random.make(size, identity), regions, true);
      for (const std::string& outcome : ranks.prove_all())
        CHECK(outcome.empty() || outcome == "idle");
    }
  }
}

TEST(a_wrong_plan_is_told_to_its_component_only) {
  for (const int culprit : {0, 3, 4, 5, 8}) {
    for (const bool reverse : {false, true}) {
      Ranks ranks("aggregate", two_components(), "blocks:3", true);
      Plans& plans = ranks.plans[static_cast<std::size_t>(culprit)];
      Plan& plan = reverse ? *plans.reverse : plans.forward;
      // A copy, or its counterpart in reverse, that takes the neighbouring element.
      const auto copy =
          std::find_if(plan.operations.begin(), plan.operations.end(),
                       [](const auto& it) { return !it.runs.empty() && it.from == Plan::source; });
      CHECK(copy != plan.operations.end());
      copy->runs.front().source += copy->runs.front().source > 0 ? -1 : 1;
      const std::vector<std::string> heard = ranks.prove_all();
      const int members = culprit < 5 ? 5 : 4;
      CHECK_EQUAL(count_of(heard, "internal: the plans of these ranks would not deliver"), members);
      CHECK_EQUAL(std::count(heard.begin(), heard.end(), ""), 9 - members);
      CHECK_EQUAL(heard.back(), std::string("idle"));
      CHECK(heard[static_cast<std::size_t>(culprit)].starts_with("internal"));
      // All members get the same message.
      CHECK_EQUAL(count_of(heard, heard[static_cast<std::size_t>(culprit)]), members);
    }
  }
}

TEST(a_plan_that_laps_its_readers_is_found_by_its_ranks) {
  Ranks ranks("aggregate", two_components(), "blocks:3", false);
  int changed = 0;
  for (Plans& plans : ranks.plans) {
    for (Operation& it : plans.forward.operations) {
      if (it.kind != OperationKind::await || it.lag == 0) continue;
      it.lag = 2;  // waits for the execution before the previous one, as if two slots alternated
      ++changed;
    }
  }
  CHECK(changed > 0);
  const std::vector<std::string> heard = ranks.prove_all();
  CHECK_EQUAL(count_of(heard, "internal: "), 9);
}

TEST(a_rank_without_a_plan_is_heard_of) {
  const Ranks ranks("aggregate", two_components(), "blocks:3", true);
  const std::vector<std::string> heard = ranks.prove_all(7);
  CHECK_EQUAL(heard[7], std::string("memory: no slot to be had"));
  CHECK_EQUAL(count_of(heard, "proving the plans failed because of a memory fault on rank 7"), 3);
  CHECK_EQUAL(std::count(heard.begin(), heard.end(), ""), 5);
}

}  // namespace vicinal::proof_tests
