// Allgathers over all ranks, and the machines on which they are planned.
#pragma once

#include <memory>
#include <random>
#include <string>
#include <vector>

#include "locality/machine.hpp"
#include "pattern/pattern.hpp"
#include "planners/planner.hpp"
#include "planners/virtual_ranks.hpp"

namespace vicinal::testing {

/// Rank r contributes counts[r] elements; blocks lie in the receive buffer in the order of ranks,
/// with `gap` elements between them.
inline std::vector<Pattern> allgather_patterns(const std::vector<Index>& counts, Index gap = 0) {
  const int size = static_cast<int>(counts.size());
  std::vector<Pattern> patterns(counts.size());
  for (int rank = 0; rank < size; ++rank) {
    Pattern& pattern = patterns[rank];
    pattern.identity = true;
    Index place = 0;
    for (int other = 0; other < size; ++other) {
      pattern.out.push_back({other, {}});
      if (counts[rank] > 0) pattern.out.back().items.push_back({0, 0, counts[rank]});
      pattern.in.push_back({other, counts[other], {}});
      if (counts[other] > 0) pattern.in.back().slots.push_back({0, place, counts[other]});
      place += counts[other] + gap;
    }
  }
  return patterns;
}

inline PlanOptions allgather_options(bool shared_memory) {
  PlanOptions options;
  options.one_block = true;
  options.complete = true;
  options.shared_memory = shared_memory;
  return options;
}

/// Regions of `region` ranks on hosts of `host` ranks, all contiguous; inner regions of `inner`
/// ranks, where it is not 0.
inline std::shared_ptr<const Machine> block_machine(int size, int region, int host, int inner = 0) {
  std::vector<int> regions, hosts, inners;
  for (int rank = 0; rank < size; ++rank) {
    regions.push_back(rank / region);
    hosts.push_back(rank / host);
    if (inner > 0) inners.push_back(rank / inner);
  }
  return std::make_shared<const Machine>(regions, hosts, inners);
}

/// Any labels at all: regions of unequal sizes whose ranks lie anywhere.
inline std::shared_ptr<const Machine> random_machine(int size, unsigned seed) {
  std::mt19937 random(seed);
  const auto labels = [&] {
    std::uniform_int_distribution<int> most(1, size);
    std::uniform_int_distribution<int> label(0, most(random) - 1);
    std::vector<int> result(static_cast<std::size_t>(size));
    for (int& it : result) it = label(random);
    return result;
  };
  return std::make_shared<const Machine>(labels(), labels(), labels());
}

inline std::vector<Plan> planned_allgather(const std::string& planner,
                                           const std::shared_ptr<const Machine>& machine,
                                           const std::vector<Pattern>& patterns,
                                           const PlanOptions& options) {
  std::vector<Plan> result;
  for (Plans& plans : plan_virtually(find_planner(planner), machine, patterns, options)) {
    result.push_back(std::move(plans.forward));
  }
  return result;
}

}  // namespace vicinal::testing
