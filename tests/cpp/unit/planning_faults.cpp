// Tests planning with failed ranks, different requests, or exhausted resources. Planning ends on
// every rank, and its exception says why.
#include <algorithm>
#include <new>
#include <sstream>
#include <stdexcept>
#include <variant>

#include "block_graphs.hpp"
#include "check.hpp"
#include "negotiate/comparison.hpp"
#include "negotiate/virtual_ranks.hpp"
#include "plan/checks.hpp"
#include "random_patterns.hpp"

namespace vicinal::planning_faults_tests {
namespace {

using testing::RandomPatterns;

using Outcome = std::variant<Plans, Error>;

/// Resource that runs out on one rank, from the k-th tag or slot on.
enum class Want { slots, tags, memory_for_slots, length_of_tags };

class PoorSite final : public Site {
 public:
  PoorSite(Want want, int left) : want_(want), left_(left) {}
  std::int64_t new_tag() override {
    if (want_ == Want::tags || want_ == Want::length_of_tags) take();
    return next_++;
  }
  std::int64_t new_slot(int) override {
    if (want_ == Want::slots || want_ == Want::memory_for_slots) take();
    return next_++;
  }
  [[nodiscard]] bool failed() const { return left_ < 0; }

 private:
  void take() {
    if (left_ > 0) {
      --left_;
      return;
    }
    left_ = -1;
    if (want_ == Want::memory_for_slots) throw std::bad_alloc();
    if (want_ == Want::length_of_tags) throw std::length_error("too long");
    fail(Fault::memory, "there is no more");
  }
  Want want_;
  int left_;
  std::int64_t next_ = 0;
};

struct Setting {
  std::shared_ptr<const Machine> machine;
  std::vector<Pattern> patterns;
  std::vector<Neighborhood> neighborhoods;
  PlanOptions options;

  Setting(std::shared_ptr<const Machine> where, std::vector<Pattern> what)
      : machine(std::move(where)), patterns(std::move(what)) {
    neighborhoods = run_virtual<Neighborhood>(machine->size(), [&](int rank, Conversation& talk) {
      std::vector<int> sources, destinations;
      const Pattern& pattern = patterns[static_cast<std::size_t>(rank)];
      for (const InEdge& edge : pattern.in) sources.push_back(edge.rank);
      for (const OutEdge& edge : pattern.out) destinations.push_back(edge.rank);
      return make_neighborhood(talk, machine, rank, std::move(sources), std::move(destinations));
    });
  }
};

/// Returns 12 ranks in regions of 4, on one host or on one host per region; each sends to most
/// others.
Setting some_ranks(const Planner& planner, bool one_host) {
  constexpr int size = 12;
  std::vector<int> regions, hosts;
  for (int rank = 0; rank < size; ++rank) {
    regions.push_back(rank / 4);
    hosts.push_back(one_host ? 0 : rank / 4);
  }
  const double density = planner.complete_only ? 1.0 : 0.6;
  auto graph = testing::random_graph(size, density, 5);
  if (planner.complete_only) {
    for (int rank = 0; rank < size; ++rank) {
      graph[static_cast<std::size_t>(rank)].clear();
      for (int to = 0; to < size; ++to) graph[static_cast<std::size_t>(rank)].push_back(to);
    }
  }
  Setting it(std::make_shared<const Machine>(regions, hosts),
             testing::block_patterns(graph, [](int) { return Index{3}; }));
  it.options.one_block = true;
  it.options.complete = planner.complete_only;
  it.options.with_reverse = planner.forward_only.empty();
  it.options.split_bytes = 8;
  return it;
}

Task<Outcome> attempt(const Planner& planner, PlanRequest request, bool alike) {
  std::optional<Error> error;
  try {
    if (alike) co_return co_await plan_alike(planner, std::move(request));
    co_return co_await planner.plan(std::move(request));
  } catch (const Error& fault) {
    if (!fault.is_on_all_ranks()) throw;
    error = fault;
  }
  co_return *error;
}

const Error* error_of(const Outcome& outcome) { return std::get_if<Error>(&outcome); }

void verify_plans(const std::vector<Outcome>& outcomes, const Setting& setting) {
  std::vector<Plan> forward, reverse;
  for (const Outcome& outcome : outcomes) {
    const Plans& plans = std::get<Plans>(outcome);
    forward.push_back(plans.forward);
    if (plans.reverse) reverse.push_back(*plans.reverse);
  }
  verify(forward, setting.patterns);
  if (setting.options.with_reverse) verify(reverse, setting.patterns);
}

/// Runs every planner on one host and on several, with and without shared memory. Rank 5 gets only
/// k of the resource, for all k until it has enough.
template <class Check>
void run_short(Want want, Check check) {
  for (const Planner& planner : planners()) {
    for (const auto& [one_host, shared] :
         {std::pair(false, true), std::pair(true, true), std::pair(true, false)}) {
      Setting setting = some_ranks(planner, one_host);
      setting.options.shared_memory = shared;
      for (int left = 0;; ++left) {
        std::vector<PoorSite> sites;
        for (int rank = 0; rank < setting.machine->size(); ++rank) {
          sites.emplace_back(want, rank == 5 ? left : 1 << 20);
        }
        try {
          const auto outcomes =
              run_virtual<Outcome>(setting.machine->size(), [&](int rank, Conversation& talk) {
                const auto r = static_cast<std::size_t>(rank);
                return attempt(planner,
                               PlanRequest{talk, sites[r], setting.neighborhoods[r],
                                           setting.patterns[r], setting.options, std::nullopt},
                               false);
              });
          if (!sites[5].failed()) break;
          check(outcomes, setting);
        } catch (const std::exception& error) {
          testing::fail_check(
              __FILE__, __LINE__, planner.name, ", ", one_host ? "one host" : "hosts",
              shared ? ", " : " that share nothing, ", "after ", left, ": ", error.what());
        }
      }
    }
  }
}

void plans_all_the_same(const std::vector<Outcome>& outcomes, const Setting& setting) {
  for (const Outcome& outcome : outcomes) {
    if (const Error* error = error_of(outcome)) throw *error;
  }
  verify_plans(outcomes, setting);
}

void tells(const std::vector<Outcome>& outcomes, const Setting&) {
  const Error* own = error_of(outcomes[5]);
  CHECK(own != nullptr && own->fault() == Fault::memory);
  for (int rank = 0; rank < static_cast<int>(outcomes.size()); ++rank) {
    const Error* error = error_of(outcomes[static_cast<std::size_t>(rank)]);
    if (rank == 5 || error == nullptr) continue;
    CHECK_EQUAL(name(error->fault()), std::string("remote"));
    CHECK(std::string(error->what()).find("memory fault on rank 5") != std::string::npos);
  }
}

/// Plans on all ranks of `setting`, with the planner, options and fault that the functions return
/// for each rank.
template <class PlannerOf, class OptionsOf, class FaultOf>
std::vector<Outcome> plan_each(const Setting& setting, PlannerOf planner_of, OptionsOf options_of,
                               FaultOf fault_of) {
  std::vector<VirtualSite> sites(static_cast<std::size_t>(setting.machine->size()));
  std::vector<PlanOptions> options;
  for (int rank = 0; rank < setting.machine->size(); ++rank) options.push_back(options_of(rank));
  return run_virtual<Outcome>(setting.machine->size(), [&](int rank, Conversation& talk) {
    const auto r = static_cast<std::size_t>(rank);
    return attempt(find_planner(planner_of(rank)),
                   PlanRequest{talk, sites[r], setting.neighborhoods[r], setting.patterns[r],
                               options[r], fault_of(rank)},
                   true);
  });
}

std::optional<Error> no_fault(int) { return std::nullopt; }

}  // namespace

TEST(planning_without_room_for_slots_uses_messages) { run_short(Want::slots, plans_all_the_same); }
TEST(planning_without_memory_for_slots_uses_messages) {
  run_short(Want::memory_for_slots, plans_all_the_same);
}
TEST(planning_without_tags_is_told) { run_short(Want::tags, tells); }
TEST(planning_turns_any_exception_into_a_fault) { run_short(Want::length_of_tags, tells); }

TEST(planning_where_no_rank_has_room_uses_messages) {
  for (const Planner& planner : planners()) {
    const Setting setting = some_ranks(planner, true);
    std::vector<PoorSite> sites(12, PoorSite(Want::slots, 0));
    const auto outcomes = run_virtual<Outcome>(12, [&](int rank, Conversation& talk) {
      const auto r = static_cast<std::size_t>(rank);
      return attempt(planner,
                     PlanRequest{talk, sites[r], setting.neighborhoods[r], setting.patterns[r],
                                 setting.options, std::nullopt},
                     false);
    });
    plans_all_the_same(outcomes, setting);
    for (const Outcome& outcome : outcomes) {
      for (const Buffer& buffer : std::get<Plans>(outcome).forward.buffers) {
        CHECK(buffer.space != Space::shared);
      }
    }
  }
}

TEST(planners_name_counts_that_differ_on_both_ends) {
  for (const Planner& planner : planners()) {
    if (planner.complete_only) continue;
    for (const bool one_host : {false, true}) {
      for (std::size_t to = 0; to < 12; ++to) {
        const Index count = to % 2 == 0 ? 2 : 0;
        Setting setting = some_ranks(planner, one_host);
        auto& edges = setting.patterns[to].in;
        const auto spoiled = std::find_if(edges.begin(), edges.end(), [&](const InEdge& edge) {
          return edge.rank != static_cast<int>(to);
        });
        const CopyRun fewer{0, spoiled->slots.front().target, count};
        spoiled->count = count;
        spoiled->slots.assign(count > 0 ? 1 : 0, fewer);
        const auto outcomes = plan_each(
            setting, [&](int) { return planner.name; }, [&](int) { return setting.options; },
            no_fault);
        std::ostringstream expected;
        expected << "the counts of the edge from rank " << spoiled->rank << " to rank " << to
                 << " differ: rank " << spoiled->rank << " sends 3 elements, but rank " << to
                 << " expects " << count;
        for (const std::size_t end : {static_cast<std::size_t>(spoiled->rank), to}) {
          const Error* const error = error_of(outcomes[end]);
          CHECK(error != nullptr && error->fault() == Fault::count);
          CHECK(std::string(error->what()).starts_with(expected.str()));
        }
      }
    }
  }
}

TEST(planning_differently_is_told_to_all_with_both_values) {
  const auto names = planners();
  for (const Planner& one : names) {
    for (const Planner& other : names) {
      if (&one == &other || one.complete_only || other.complete_only) continue;
      const Setting setting = some_ranks(one, true);
      const auto outcomes = plan_each(
          setting, [&](int rank) { return rank == 7 ? other.name : one.name; },
          [&](int) {
            PlanOptions options = setting.options;
            options.with_reverse = false;
            return options;
          },
          no_fault);
      std::ostringstream expected;
      expected << "vicinal_strategy is '" << one.name << "' on rank 0, but '" << other.name
               << "' on rank 7; all ranks must give the same";
      for (const Outcome& outcome : outcomes) {
        const Error* error = error_of(outcome);
        CHECK(error != nullptr && error->fault() == Fault::info);
        CHECK(std::string(error->what()).starts_with(expected.str()));
      }
    }
  }
}

TEST(planning_with_different_options_is_told_to_all) {
  struct Difference {
    void (*make)(PlanOptions& options);
    const char* text;
  };
  for (const auto& [make, text] :
       {Difference{[](PlanOptions& o) { o.shared_memory = false; },
                   "vicinal_local is 'shared' on rank 0, but 'messages' on rank 3"},
        Difference{[](PlanOptions& o) { o.split_bytes = 99; },
                   "vicinal_split_bytes is '8' on rank 0, but '99' on rank 3"},
        Difference{[](PlanOptions& o) { o.radix = 2; },
                   "vicinal_radix is '0' on rank 0, but '2' on rank 3"},
        Difference{[](PlanOptions& o) { o.profile.search *= 2; },
                   "vicinal_profile is 'Lassen, Spectrum MPI (default) (fingerprint "}}) {
    const Setting setting = some_ranks(find_planner("split"), true);
    const auto outcomes = plan_each(
        setting, [](int) { return "split"; },
        [&](int rank) {
          PlanOptions options = setting.options;
          if (rank == 3) make(options);
          return options;
        },
        no_fault);
    for (const Outcome& outcome : outcomes) {
      const Error* error = error_of(outcome);
      CHECK(error != nullptr && error->fault() == Fault::info);
      CHECK(std::string(error->what()).starts_with(text));
    }
  }
}

TEST(planning_with_a_fault_on_one_rank_ends_its_component_and_no_other) {
  for (unsigned seed = 0; seed < 40; ++seed) {
    RandomPatterns random(seed);
    const int size = random.between(2, 40);
    const Setting setting(random.machine(size).machine,
                          random.make(size, true, random.chance(0.5) ? 0.5 : 0.7 / size));
    const int culprit = random.between(0, size - 1);
    const auto& mine = setting.neighborhoods[static_cast<std::size_t>(culprit)];
    if (!mine.has_edges()) continue;
    const auto outcomes = plan_each(
        setting, [](int) { return "aggregate"; }, [](int) { return PlanOptions{}; },
        [&](int rank) {
          return rank == culprit ? std::optional(Error(Fault::buffer, "a null buffer"))
                                 : std::nullopt;
        });
    for (int rank = 0; rank < size; ++rank) {
      const Error* error = error_of(outcomes[static_cast<std::size_t>(rank)]);
      const bool told = error != nullptr;
      if (rank == culprit) CHECK(told && std::string(error->what()) == "a null buffer");
      if (rank != culprit && told) {
        CHECK(std::string(error->what()).find("buffer fault on rank " + std::to_string(culprit)) !=
              std::string::npos);
      }
    }
    for (const int peer : mine.dependents())
      CHECK(error_of(outcomes[static_cast<std::size_t>(peer)]));
    for (int rank = 0; rank < size; ++rank) {
      const bool fails = error_of(outcomes[static_cast<std::size_t>(rank)]) != nullptr;
      for (const int peer : setting.neighborhoods[static_cast<std::size_t>(rank)].dependents()) {
        CHECK_EQUAL(fails, error_of(outcomes[static_cast<std::size_t>(peer)]) != nullptr);
      }
    }
  }
}

TEST(components_plan_apart) {
  // Two components on the same regions with different requests do not affect each other.
  std::vector<int> region;
  std::vector<std::vector<int>> graph;
  for (int rank = 0; rank < 16; ++rank) {
    region.push_back(rank / 4);
    std::vector<int> peers;
    for (int to = rank % 2; to < 16; to += 2) peers.push_back(to);
    graph.push_back(std::move(peers));
  }
  const Setting setting(
      std::make_shared<const Machine>(region, region),
      testing::block_patterns(graph, [](int rank) { return Index{1 + rank % 2}; }));
  for (const Planner& even : planners()) {
    for (const Planner& odd : planners()) {
      if (even.complete_only || odd.complete_only) continue;
      const auto outcomes = plan_each(
          setting, [&](int rank) { return rank % 2 == 0 ? even.name : odd.name; },
          [](int rank) {
            PlanOptions options;
            options.one_block = true;
            options.split_bytes = 1 + rank % 2;
            return options;
          },
          no_fault);
      for (const Outcome& outcome : outcomes) {
        if (const Error* error = error_of(outcome)) throw *error;
      }
      std::vector<Plan> plans;
      for (const Outcome& outcome : outcomes) plans.push_back(std::get<Plans>(outcome).forward);
      verify(plans, setting.patterns);
    }
  }
}

}  // namespace vicinal::planning_faults_tests
