// Tests distance halving with a failed rank: every rank ends with the right error or a plan.
#include <algorithm>
#include <sstream>

#include "block_graphs.hpp"
#include "check.hpp"
#include "negotiate/planner.hpp"
#include "negotiate/virtual_ranks.hpp"

namespace vicinal::halving_faults_tests {
namespace {

using Outcomes = std::vector<std::optional<Error>>;

Task<std::optional<Error>> outcome(const Planner& planner, PlanRequest request) {
  std::optional<Error> error;
  try {
    const Plans plans = co_await planner.plan(std::move(request));
  } catch (const Error& fault) {
    if (!fault.is_on_all_ranks()) throw;
    error = fault;
  }
  co_return error;
}

/// Site that runs out of slots and tags after `left` of them.
class PoorSite final : public Site {
 public:
  explicit PoorSite(int left) : left_(left) {}
  std::int64_t new_tag() override { return take(); }
  std::int64_t new_slot(int) override { return take(); }

 private:
  std::int64_t take() {
    require(left_-- > 0, Fault::memory, "the arena is full");
    return left_;
  }
  int left_;
};

struct Culprit {
  int rank = -1;
  std::optional<Error> fault = std::nullopt;
  int numbers = 1 << 20;  ///< supply of its site
};

Outcomes plan_all(const char* name, const std::shared_ptr<const Machine>& machine,
                  const std::vector<Pattern>& patterns, const PlanOptions& options,
                  const Culprit& culprit) {
  const int size = machine->size();
  const auto neighborhoods = run_virtual<Neighborhood>(size, [&](int rank, Conversation& talk) {
    const Pattern& pattern = patterns[static_cast<std::size_t>(rank)];
    std::vector<int> sources, destinations;
    for (const InEdge& edge : pattern.in) sources.push_back(edge.rank);
    for (const OutEdge& edge : pattern.out) destinations.push_back(edge.rank);
    return make_neighborhood(talk, machine, rank, std::move(sources), std::move(destinations));
  });
  std::vector<PoorSite> sites;
  for (int rank = 0; rank < size; ++rank) {
    sites.emplace_back(rank == culprit.rank ? culprit.numbers : 1 << 20);
  }
  return run_virtual<std::optional<Error>>(size, [&](int rank, Conversation& talk) {
    const auto r = static_cast<std::size_t>(rank);
    return outcome(find_planner(name),
                   PlanRequest{talk, sites[r], neighborhoods[r], patterns[r], options,
                               rank == culprit.rank ? culprit.fault : std::nullopt});
  });
}

struct Setting {
  int size = 24;
  std::shared_ptr<const Machine> machine;
  std::vector<Pattern> patterns;
};

Setting setting(bool one_host) {
  Setting it;
  std::vector<int> regions, hosts;
  for (int rank = 0; rank < it.size; ++rank) {
    regions.push_back(rank / 5);
    hosts.push_back(one_host ? 0 : rank / 5);
  }
  it.machine = std::make_shared<const Machine>(regions, hosts);
  it.patterns =
      testing::block_patterns(testing::random_graph(it.size, 0.4, 3), [](int) { return Index{5}; });
  return it;
}

/// Checks that each rank failing because of another names that rank; returns their number.
int count_elsewhere(const Outcomes& outcomes, int culprit, const char* what) {
  int told = 0;
  for (int rank = 0; rank < static_cast<int>(outcomes.size()); ++rank) {
    const auto& error = outcomes[static_cast<std::size_t>(rank)];
    if (rank == culprit || !error) continue;
    CHECK_EQUAL(name(error->fault()), std::string(name(Fault::elsewhere)));
    std::ostringstream expected;
    expected << "planning failed because of a " << what << " fault on rank " << culprit;
    CHECK(std::string(error->what()).find(expected.str()) == 0);
    ++told;
  }
  return told;
}

constexpr const char* both[] = {"distance-halving", "distance-halving-pruned"};

}  // namespace

TEST(halving_ends_on_all_ranks_when_one_has_failed_before) {
  for (const bool one_host : {false, true}) {
    Setting it = setting(one_host);
    PlanOptions options;
    options.one_block = true;
    for (const char* name : both) {
      for (int rank = 0; rank < it.size; ++rank) {
        const Culprit culprit{rank, Error(Fault::buffer, "the send buffer is null")};
        const Outcomes outcomes = plan_all(name, it.machine, it.patterns, options, culprit);
        const auto& own = outcomes[static_cast<std::size_t>(rank)];
        CHECK(own && own->fault() == Fault::buffer);
        CHECK_EQUAL(std::string(own->what()), "the send buffer is null");
        // All neighbours learn of the fault in the first superstep.
        std::size_t neighbours = 0;
        for (int other = 0; other < it.size; ++other) {
          const Pattern& pattern = it.patterns[static_cast<std::size_t>(other)];
          const bool sends = std::any_of(pattern.out.begin(), pattern.out.end(),
                                         [&](const OutEdge& edge) { return edge.rank == rank; });
          const bool receives = std::any_of(pattern.in.begin(), pattern.in.end(),
                                            [&](const InEdge& edge) { return edge.rank == rank; });
          if (other == rank || (!sends && !receives)) continue;
          ++neighbours;
          CHECK(outcomes[static_cast<std::size_t>(other)].has_value());
        }
        CHECK(static_cast<std::size_t>(count_elsewhere(outcomes, rank, "buffer")) >= neighbours);
      }
    }
  }
}

TEST(halving_ends_on_all_ranks_when_one_runs_out_of_slots_or_tags) {
  for (const bool one_host : {false, true}) {
    Setting it = setting(one_host);
    PlanOptions options;
    options.one_block = true;
    for (const char* name : both) {
      for (const int numbers : {0, 1}) {
        const Outcomes outcomes =
            plan_all(name, it.machine, it.patterns, options, {7, {}, numbers});
        const auto& own = outcomes[7];
        CHECK(own && own->fault() == Fault::memory);
        CHECK(count_elsewhere(outcomes, 7, "memory") > 0);
      }
    }
  }
}

TEST(halving_names_a_self_edge_whose_counts_differ) {
  const auto machine = std::make_shared<const Machine>(std::vector{0, 1}, std::vector{0, 1});
  auto patterns = testing::block_patterns({{0, 1}, {0}}, [](int) { return Index{2}; });
  patterns[0].in.front().count = 1;
  patterns[0].in.front().slots.front().count = 1;
  const Outcomes outcomes = plan_all("distance-halving-pruned", machine, patterns, {}, {});
  CHECK(outcomes[0] && outcomes[0]->fault() == Fault::count);
  CHECK(outcomes[1] && outcomes[1]->fault() == Fault::elsewhere);
}

TEST(a_graph_that_automatic_may_pass_on_in_ends_on_all_ranks_when_one_has_failed) {
  Setting it;
  std::vector<int> own(static_cast<std::size_t>(it.size));
  for (int rank = 0; rank < it.size; ++rank) own[static_cast<std::size_t>(rank)] = rank;
  it.machine = std::make_shared<const Machine>(own, own);
  it.patterns =
      testing::block_patterns(testing::random_graph(it.size, 0.8, 3), [](int) { return Index{1}; });
  CHECK_EQUAL(plan_virtually(find_planner("automatic"), it.machine, it.patterns, {})
                  .front()
                  .forward.planner,
              std::string("cascade"));
  for (int rank = 0; rank < it.size; ++rank) {
    const Culprit culprit{rank, Error(Fault::buffer, "the send buffer is null")};
    const Outcomes outcomes = plan_all("automatic", it.machine, it.patterns, {}, culprit);
    const auto& own_fault = outcomes[static_cast<std::size_t>(rank)];
    CHECK(own_fault && own_fault->fault() == Fault::buffer);
    CHECK(count_elsewhere(outcomes, rank, "buffer") >= it.size / 2);
  }
  const Outcomes outcomes = plan_all("automatic", it.machine, it.patterns, {}, {7, {}, 0});
  CHECK(outcomes[7] && outcomes[7]->fault() == Fault::memory);
  CHECK(count_elsewhere(outcomes, 7, "memory") > 0);
}

}  // namespace vicinal::halving_faults_tests
