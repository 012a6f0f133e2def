// Allgather patterns over all ranks, and machines on which to plan them.
#pragma once

#include <memory>
#include <random>
#include <string>
#include <vector>

#include "locality/machine.hpp"
#include "negotiate/planner.hpp"
#include "negotiate/virtual_ranks.hpp"
#include "pattern/pattern.hpp"

namespace vicinal::testing {

/// Returns every rank's pattern; rank r contributes counts[r] elements.
inline std::vector<Pattern> allgather_patterns(const std::vector<Index>& counts, Index gap = 0) {
  std::vector<Pattern> patterns;
  for (int rank = 0; rank < static_cast<int>(counts.size()); ++rank) {
    patterns.push_back(allgather_pattern(rank, counts, gap));
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

/// Builds contiguous regions of `region` ranks on hosts of `host` ranks. Inner regions have `inner`
/// ranks; 0 means none.
inline std::shared_ptr<const Machine> block_machine(int size, int region, int host, int inner = 0) {
  std::vector<int> regions, hosts, inners;
  for (int rank = 0; rank < size; ++rank) {
    regions.push_back(rank / region);
    hosts.push_back(rank / host);
    if (inner > 0) inners.push_back(rank / inner);
  }
  return std::make_shared<const Machine>(regions, hosts, inners);
}

/// Draws arbitrary labels: regions have unequal sizes and their ranks may lie anywhere.
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
