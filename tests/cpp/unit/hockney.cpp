// Compares the paper's model of distance halving with its example and with what plans send.
#include <cmath>
#include <iostream>

#include "block_graphs.hpp"
#include "check.hpp"
#include "hockney.hpp"
#include "negotiate/virtual_ranks.hpp"
#include "plan/checks.hpp"

namespace vicinal::hockney_tests {
namespace {

bool near(double a, double b) {
  return std::abs(a - b) <= 1e-9 * std::max(std::abs(a), std::abs(b));
}

const RandomGraphModel example{2000, 20, 2, 0.3};

struct Sent {
  double off_region = 0;  ///< per rank
  double in_region = 0;
};

Sent sent_by(const char* planner, const std::shared_ptr<const Machine>& machine,
             const std::vector<Pattern>& patterns) {
  PlanOptions options;
  options.shared_memory = false;
  options.one_block = true;
  Sent sent;
  for (const Plans& plans : plan_virtually(find_planner(planner), machine, patterns, options)) {
    const Statistics mine = statistics(plans.forward);
    sent.off_region += static_cast<double>(mine.non_local.messages);
    sent.in_region += static_cast<double>(mine.local.messages);
  }
  sent.off_region /= machine->size();
  sent.in_region /= machine->size();
  return sent;
}

}  // namespace

TEST(the_model_of_halving_is_the_papers) {
  CHECK_EQUAL(halving_steps(example), 8);
  CHECK_EQUAL(off_region_messages(example), 8);
  CHECK(near(in_region_messages(example), 20 * (1 - std::pow(0.7, 9))));
  CHECK(near(in_region_bytes(example, 100), 0.3 * 100 * in_region_messages(example)));
  // In a graph too sparse for a neighbour behind each cut, there are as many messages as
  // neighbours.
  CHECK(near(off_region_messages({2000, 20, 2, 0.001}), 1.98));
  CHECK_EQUAL(in_region_messages({2000, 20, 2, 1}), 20);

  const Hockney latency_only{1e-6, 1e300};
  CHECK(near(direct_rank_seconds(example, latency_only, 8), 1200e-6));
  CHECK(near(direct_seconds(example, latency_only, 8), 40 * 1200e-6));
  CHECK(near(off_region_seconds(example, latency_only, 8), 8e-6));
  CHECK(near(in_region_seconds(example, latency_only, 8), 1e-6 * in_region_messages(example)));
  CHECK(near(halving_seconds(example, latency_only, 8), 80e-6 * (8 + in_region_messages(example))));
  const Hockney bytes_only{0, 1e9};
  CHECK(near(off_region_seconds(example, bytes_only, 1000), 511e-6));
  CHECK(near(direct_rank_seconds(example, bytes_only, 1000), 1200e-6));
}

TEST(halving_sends_few_messages_where_direct_sends_hundreds) {
  testing::skip_if_sanitized();
  const int size = testing::everything() ? 2000 : 1000, per_region = 20;
  std::vector<int> places;
  for (int rank = 0; rank < size; ++rank) places.push_back(rank / per_region);
  const auto machine = std::make_shared<const Machine>(places, places);
  const auto graph = testing::random_graph(size, example.density, 11);
  const auto patterns = testing::block_patterns(graph, [](int) { return Index{1}; });

  double neighbours = 0;
  for (std::size_t rank = 0; rank < graph.size(); ++rank) {
    neighbours += static_cast<double>(graph[rank].size());
    for (const int to : graph[rank]) neighbours -= to == static_cast<int>(rank) ? 1 : 0;
  }
  neighbours /= size;
  const Sent whole = sent_by("distance-halving", machine, patterns);
  const Sent pruned = sent_by("distance-halving-pruned", machine, patterns);
  std::cout << "  messages per rank, L = 20, delta = 0.3:  off region, in region\n"
            << "    the paper's text          7, 16  (direct: 600), where n = 2000\n"
            << "    its equations 1 and 2     " << off_region_messages(example) << ", "
            << in_region_messages(example) << "  (direct: " << 0.3 * 2000 << ")\n"
            << "    where n = " << size << '\n'
            << "    planned, whole buffer     " << whole.off_region << ", " << whole.in_region
            << "  (direct: " << neighbours << ")\n"
            << "    planned, pruned           " << pruned.off_region << ", " << pruned.in_region
            << '\n';
  CHECK(whole.in_region <= per_region - 1);
  CHECK(pruned.in_region <= per_region - 1);
  // 100 regions are separate after 7 cuts, so at most 7 messages go to agents: a twentieth of those
  // to all neighbours. 50 regions need 6 cuts and have half as many neighbours.
  const int part = size / 100;
  CHECK(pruned.off_region + pruned.in_region < neighbours / part);
  // With one origin per agent, ranks without an agent send more.
  CHECK(whole.off_region + whole.in_region < neighbours / part * 2);
}

}  // namespace vicinal::hockney_tests
