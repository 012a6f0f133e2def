// Tests distance halving on virtual ranks. The verifier must accept its plans for many graphs and
// regions, under either policy, with and without shared memory.
#include <map>
#include <sstream>
#include <utility>

#include "block_graphs.hpp"
#include "check.hpp"
#include "negotiate/planner.hpp"
#include "negotiate/virtual_ranks.hpp"
#include "plan/checks.hpp"
#include "planners/halving/halves.hpp"
#include "random_patterns.hpp"

namespace vicinal::halving_tests {
namespace {

using halving::Halves;
using testing::block_patterns;
using testing::OutEdges;
using testing::random_graph;
using testing::RandomPatterns;

using SharedMachine = std::shared_ptr<const Machine>;

constexpr const char* whole = "distance-halving";
constexpr const char* pruned = "distance-halving-pruned";

SharedMachine machine_of(const std::string& regions, int size, int ranks_per_host) {
  DetectedPlaces places;
  for (int rank = 0; rank < size; ++rank) {
    places.node_of.push_back(rank / ranks_per_host);
    places.numa_of.push_back(0);
  }
  return std::make_shared<const Machine>(read_regions(regions, places), places.node_of);
}

std::vector<Plan> plan(const char* name, const SharedMachine& machine,
                       const std::vector<Pattern>& patterns, bool shared_memory) {
  PlanOptions options;
  options.shared_memory = shared_memory;
  options.one_block = true;
  std::vector<Plan> plans;
  for (Plans& each : plan_virtually(find_planner(name), machine, patterns, options)) {
    plans.push_back(std::move(each.forward));
  }
  return plans;
}

std::string text_of(const std::vector<Plan>& plans) {
  std::ostringstream text;
  for (const Plan& plan : plans) write_text(text, plan);
  return text.str();
}

/// Checks that each step gives a rank at most one agent and at most two origins, on the other side
/// of the cut.
void check_partners(const std::vector<Plan>& plans, const Machine& machine) {
  for (const Plan& plan : plans) {
    const Halves halves(machine, machine.region_of(plan.rank));
    std::map<int, int> sent, received;
    for (const Operation& it : plan.operations) {
      if (it.phase != Phase::halving) continue;
      const bool message = it.kind == OperationKind::send || it.kind == OperationKind::receive;
      const bool picked = it.kind == OperationKind::await && it.flag == -1;
      if (!message && !picked) continue;
      const int peer = message ? it.peer : plan.buffers[static_cast<std::size_t>(it.from)].owner;
      CHECK(!machine.same_region(peer, plan.rank));
      ++(it.kind == OperationKind::send ? sent : received)[halves.step_to(machine.region_of(peer))];
    }
    for (const auto& [step, times] : sent) CHECK_EQUAL(times, 1);
    for (const auto& [step, times] : received) CHECK(times <= 2);
  }
}

void plan_and_verify(const SharedMachine& machine, const std::vector<Pattern>& patterns,
                     const std::string& what) {
  for (const char* name : {whole, pruned, "cascade"}) {
    for (const bool shared_memory : {false, true}) {
      try {
        const std::vector<Plan> plans = plan(name, machine, patterns, shared_memory);
        verify(plans, patterns);
        check_partners(plans, *machine);
      } catch (const std::exception& error) {
        std::ostringstream text;
        text << name << ", " << what << (shared_memory ? ", shared: " : ", messages: ")
             << error.what();
        throw std::runtime_error(text.str());
      }
    }
  }
}

void try_random(int size, unsigned first_seed, unsigned last_seed) {
  for (unsigned seed = first_seed; seed < last_seed; ++seed) {
    RandomPatterns random(seed);
    const auto [machine, regions] = random.machine(size);
    const std::string what = "seed " + std::to_string(seed) + ", regions " + regions;
    const double density = random.chance(0.5) ? 0.6 : 0.2;
    plan_and_verify(machine, random.make(size, seed % 2 == 0, density), what + ", any items");
    const auto blocks = block_patterns(random_graph(size, density, seed), [&](int rank) {
      return static_cast<Index>(seed % 3 == 0 ? rank % 4 : 3);
    });
    plan_and_verify(machine, blocks, what + ", blocks");
  }
}

}  // namespace

TEST(halving_on_few_ranks) {
  try_random(1, 0, 5);
  try_random(2, 0, 20);
  try_random(3, 100, 130);
  try_random(7, 200, 230);
}
TEST(halving_on_more_ranks) {
  try_random(8, 300, 320);
  try_random(16, 400, 415);
  try_random(40, 500, 504);
}

TEST(halving_of_graphs_of_all_shapes) {
  const int size = 12;
  std::vector<std::pair<const char*, OutEdges>> graphs;
  const auto add = [&](const char* name) -> OutEdges& {
    return graphs.emplace_back(name, OutEdges(size)).second;
  };
  add("no edges");
  OutEdges& outward = add("a star outward");
  for (int to = 1; to < size; ++to) outward[0].push_back(to);
  OutEdges& inward = add("a star inward");
  for (int from = 0; from < size - 1; ++from)
    inward[static_cast<std::size_t>(from)].push_back(size - 1);
  OutEdges& clique = add("a clique with self-edges");
  for (auto& destinations : clique) {
    for (int to = 0; to < size; ++to) destinations.push_back(to);
  }
  OutEdges& twice = add("a clique with every edge twice");
  for (auto& destinations : twice) {
    for (int to = 0; to < 2 * size; ++to) destinations.push_back(to % size);
  }
  OutEdges& apart = add("two cliques of even and odd ranks");
  for (int from = 0; from < size; ++from) {
    for (int to = from % 2; to < size; to += 2) apart[static_cast<std::size_t>(from)].push_back(to);
  }
  OutEdges& one_way = add("from the lower half to the upper");
  for (int from = 0; from < size / 2; ++from) {
    for (int to = size / 2; to < size; ++to) one_way[static_cast<std::size_t>(from)].push_back(to);
  }
  OutEdges& alone = add("ranks 3 and 7 only");
  alone[3] = {7, 3, 7};
  alone[7] = {3};
  for (const auto& [name, graph] : graphs) {
    for (const char* regions : {"blocks:1", "blocks:3", "blocks:5", "round-robin:4", "blocks:12",
                                "list:0,0,0,0,0,0,0,1,2,2,3,3"}) {
      for (const int ranks_per_host : {1, 6, 12}) {
        plan_and_verify(machine_of(regions, size, ranks_per_host),
                        block_patterns(graph, [](int) { return Index{2}; }),
                        std::string(name) + ", regions " + regions);
      }
    }
  }
}

TEST(halving_on_the_papers_machines) {
  testing::skip_if_sanitized();
  // 60 nodes of 36 ranks, and 64 of 32; the nodes are the regions.
  std::vector<std::pair<int, int>> machines{{60, 36}};
  if (testing::everything()) machines.emplace_back(64, 32);
  for (const auto& [nodes, per_node] : machines) {
    const int size = nodes * per_node;
    const auto machine = machine_of("blocks:" + std::to_string(per_node), size, per_node);
    const auto patterns = block_patterns(random_graph(size, 0.05, 1), [](int) { return Index{1}; });
    for (const char* name : {whole, pruned}) {
      const std::vector<Plan> plans = plan(name, machine, patterns, true);
      verify(plans, patterns);
      check_partners(plans, *machine);
    }
  }
}

TEST(halving_is_planned_alike_each_time) {
  const auto patterns = block_patterns(random_graph(60, 0.3, 5), [](int) { return Index{4}; });
  const auto machine = machine_of("blocks:7", 60, 20);
  for (const char* name : {whole, pruned}) {
    CHECK(text_of(plan(name, machine, patterns, true)) ==
          text_of(plan(name, machine, patterns, true)));
  }
}

TEST(halving_says_what_it_does_not_serve) {
  const auto machine = machine_of("blocks:1", 2, 2);
  const std::vector<Pattern> patterns(2);
  PlanOptions options;
  options.one_block = true;
  options.with_reverse = true;
  CHECK_THROWS(Fault::info, plan_virtually(find_planner(whole), machine, patterns, options),
               "cannot serve an exchange with a reverse: it passes on what nobody behind wants");
  CHECK_THROWS(Fault::info, plan_virtually(find_planner(whole), machine, patterns, {}),
               "serves allgathers only: it passes on all that a rank sends as one block; use "
               "distance-halving-pruned");
}

}  // namespace vicinal::halving_tests
