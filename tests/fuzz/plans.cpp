#include "plans.hpp"

#include <algorithm>
#include <array>
#include <string>
#include <utility>
#include <vector>

namespace fuzz {

void choose_fault(CallPlan& plan, const Wiring& wiring, int kind) {
  const int rank = plan.failed_rank;
  const auto& to = wiring.destinations[static_cast<std::size_t>(rank)];
  const auto& from = wiring.origins[static_cast<std::size_t>(rank)];
  const bool sends = std::any_of(to.begin(), to.end(), [](int peer) { return peer >= 0; });
  const bool receives =
      std::any_of(from.begin(), from.end(), [](const Wiring::End& end) { return end.rank >= 0; });
  if (!sends && !receives) return;
  if (kind == 0) plan.wrong = Wrong::negative_count;
  if (kind == 1) plan.wrong = Wrong::null_type;
  // These are errors only if there are data to send and null is not a valid address. Units of
  // several basic types have gaps.
  if (plan.derived || plan.unit == Layout::kinds - 1 || plan.op == Op::alltoallw) return;
  if (kind == 2 && has_equal_blocks(plan.op) && plan.units(rank, 0) > 0) {
    plan.wrong = Wrong::null_buffer;
  }
  if (kind == 3 && plan.form == Form::persistent && plan.op == Op::alltoallv && sends &&
      !plan.in_place) {
    plan.wrong = Wrong::other_count;
  }
}

Settings random_settings(Random& random, int size) {
  static const std::vector<std::string> strategies{
      "automatic", "direct", "nearest-first",           "aggregate",       "aggregate-plain",
      "two-step",  "split",  "distance-halving-pruned", "common-neighbor", "cascade"};
  static const std::vector<std::string> gathering{
      "automatic",        "bruck",           "dissemination",  "recursive-doubling", "ring",
      "hierarchical",     "multi-lane",      "locality-bruck", "locality-bruck",     "aggregate",
      "distance-halving", "common-neighbor", "tuna",           "tuna-hierarchical"};
  Settings settings;
  if (random.chance(80)) settings.emplace_back("vicinal_strategy", random.pick(strategies));
  if (random.chance(85)) settings.emplace_back("vicinal_regions", random_regions(random, size));
  if (random.chance(20)) settings.emplace_back("vicinal_local", "messages");
  const auto number = [&](int percent, const char* key, int least, int most) {
    if (random.chance(percent)) {
      settings.emplace_back(key, std::to_string(random.between(least, most)));
    }
  };
  if (random.chance(60)) settings.emplace_back("vicinal_allgather", random.pick(gathering));
  if (random.chance(8)) {
    settings.emplace_back("vicinal_choice", random.chance(50) ? "measure" : "adaptive");
  }
  number(25, "vicinal_split_bytes", 1, 200);
  number(15, "vicinal_radix", 2, 5);
  number(30, "vicinal_in_flight", 1, 8);
  return settings;
}

Settings random_settings_of_all(Random& random, int size) {
  Settings settings = random_settings(random, size);
  if (!random.chance(40)) return settings;
  std::erase_if(settings, [](const auto& each) { return each.first == "vicinal_strategy"; });
  settings.emplace_back("vicinal_strategy", random.chance(50) ? "tuna" : "tuna-hierarchical");
  return settings;
}

namespace {

/// Chooses a call over a communicator instead of a graph.
void choose_over_all(CallPlan& plan, Random& random) {
  plan.op = std::array{Op::allgather, Op::allgatherv,
                       Op::alltoallv}[static_cast<std::size_t>(random.below(3))];
  plan.in_place = random.chance(25);
}

}  // namespace

CallPlan random_plan(Trial& trial, const TestedGraph& graph, std::uint64_t number) {
  Random& common = trial.common();
  CallPlan plan;
  plan.op = static_cast<Op>(common.below(5));
  if (graph.whole != MPI_COMM_NULL) choose_over_all(plan, common);
  plan.form = static_cast<Form>(common.below(3));
  plan.unit = common.below(Layout::kinds);
  plan.derived = common.chance(60);
  plan.one_source = plan.op == Op::alltoallv && !plan.in_place && common.chance(10);
  plan.number = number;
  const int sizes = common.below(20);
  const int most = sizes < 2 ? 0 : sizes < 13 ? 6 : sizes < 19 ? 400 : 9000;
  const bool by_component = common.chance(50) && trial.options().components;
  plan.units = [op = plan.op, in_place = plan.in_place, derived = plan.derived, number, most,
                by_component, component = graph.wiring.component](int rank, int edge) {
    std::uint64_t key = 0;
    // In place, two ranks have equally much for each other.
    if (in_place && !gathers(op) && edge < rank) std::swap(rank, edge);
    if (!has_equal_blocks(op)) {
      key = static_cast<std::uint64_t>(rank) * 1000;
      if (!gathers(op)) key += static_cast<std::uint64_t>(edge) + 1;
    } else if (by_component) {
      key = static_cast<std::uint64_t>(component[static_cast<std::size_t>(rank)]);
    }
    const std::uint64_t drawn = scrambled(scrambled(number + 77) ^ key);
    if (!has_equal_blocks(op) && drawn % 5 == 0) return 0;
    const auto units = static_cast<int>(drawn / 8 % static_cast<std::uint64_t>(most + 1));
    return derived ? (units + units_at_once - 1) / units_at_once * units_at_once : units;
  };
  plan.may_be_empty = has_equal_blocks(plan.op) && (by_component || plan.units(0, 0) == 0);
  const bool faulty = common.chance(6);
  if (faulty && trial.options().faults) {
    plan.failed_rank = common.below(graph.wiring.size());
    choose_fault(plan, graph.wiring, common.below(4));
  }
  return plan;
}

void avoid_faults_of_mpi(CallPlan& plan, const TestedGraph& graph) {
  const bool whole = graph.whole != MPI_COMM_NULL;
  bool empty = plan.may_be_empty;
  if (whole) {
    empty = true;
    for (int rank = 0; rank < graph.wiring.size(); ++rank) {
      for (int edge = 0; edge < graph.wiring.size(); ++edge) {
        empty = empty && plan.units(rank, edge) == 0;
      }
    }
  }
  if (empty || (whole && gathers(plan.op))) plan.derived = false;
#ifdef OPEN_MPI
  if (plan.op == Op::alltoallv && plan.form != Form::blocking) plan.in_place = false;
#endif
}

}  // namespace fuzz
