// Alltoall patterns over all ranks, and the faults that planning them raises.
#pragma once

#include <optional>
#include <random>
#include <string>
#include <variant>
#include <vector>

#include "allgathers.hpp"
#include "negotiate/comparison.hpp"

namespace vicinal::testing {

/// Gives each pair `count(from, to)` elements. A rank's blocks are consecutive, `gap` elements
/// apart.
template <class Count>
std::vector<Pattern> alltoall_patterns(int size, Index gap, Count count) {
  std::vector<Pattern> patterns(static_cast<std::size_t>(size));
  for (int rank = 0; rank < size; ++rank) {
    Pattern& pattern = patterns[static_cast<std::size_t>(rank)];
    Index sent = 0, received = 0;
    for (int peer = 0; peer < size; ++peer) {
      const Index out = count(rank, peer), in = count(peer, rank);
      OutEdge& edge = pattern.out.emplace_back(OutEdge{peer, {}});
      if (out > 0) edge.items.push_back({sent, sent, out});
      InEdge& back = pattern.in.emplace_back(InEdge{peer, in, {}});
      if (in > 0) back.slots.push_back({0, received, in});
      sent += out + gap;
      received += in + gap;
    }
  }
  return patterns;
}

inline std::vector<Pattern> equal_alltoall(int size, Index count) {
  return alltoall_patterns(size, 0, [&](int, int) { return count; });
}

/// Draws blocks of up to 6 elements; a third of them are empty.
inline std::vector<Pattern> random_alltoall(int size, unsigned seed) {
  std::mt19937 random(seed);
  std::uniform_int_distribution<Index> any(-3, 6);
  std::vector<Index> counts(static_cast<std::size_t>(size) * static_cast<std::size_t>(size));
  for (Index& it : counts) it = std::max<Index>(0, any(random));
  return alltoall_patterns(size, seed % 2, [&](int from, int to) {
    return counts[static_cast<std::size_t>(from) * static_cast<std::size_t>(size) +
                  static_cast<std::size_t>(to)];
  });
}

inline PlanOptions alltoall_options(bool shared_memory, int radix) {
  PlanOptions options;
  options.complete = true;
  options.shared_memory = shared_memory;
  options.radix = radix;
  options.element_bytes = 8;
  return options;
}

inline std::vector<Plan> planned_alltoall(const std::string& planner,
                                          const std::shared_ptr<const Machine>& machine,
                                          const std::vector<Pattern>& patterns,
                                          const PlanOptions& options) {
  return planned_allgather(planner, machine, patterns, options);
}

/// Returns each rank's error, if it throws one. A non-negative `culprit` is a rank with a null
/// buffer.
inline std::vector<std::optional<Error>> faults_of_alltoall(
    const std::string& planner, const std::shared_ptr<const Machine>& machine,
    const std::vector<Pattern>& patterns, const PlanOptions& options, int culprit = -1) {
  using Outcome = std::variant<Plans, Error>;
  const int size = machine->size();
  std::vector<int> all;
  for (int rank = 0; rank < size; ++rank) all.push_back(rank);
  const auto neighborhoods = run_virtual<Neighborhood>(size, [&](int rank, Conversation& talk) {
    return make_neighborhood(talk, machine, rank, all, all);
  });
  std::vector<VirtualSite> sites(all.size());
  const auto attempt = [](const Planner& by, PlanRequest request) -> Task<Outcome> {
    std::optional<Error> error;
    try {
      Task<Plans> planning = by.plan(std::move(request));
      co_return co_await planning;
    } catch (const Error& fault) {
      if (!fault.is_on_all_ranks()) throw;
      error = fault;
    }
    co_return *error;
  };
  const auto outcomes = run_virtual<Outcome>(size, [&](int rank, Conversation& talk) {
    const auto r = static_cast<std::size_t>(rank);
    return attempt(
        find_planner(planner),
        PlanRequest{talk, sites[r], neighborhoods[r], patterns[r], options,
                    rank == culprit ? std::optional(Error(Fault::buffer, "null")) : std::nullopt});
  });
  std::vector<std::optional<Error>> faults;
  for (const Outcome& outcome : outcomes) {
    const Error* const error = std::get_if<Error>(&outcome);
    faults.push_back(error != nullptr ? std::optional(*error) : std::nullopt);
  }
  return faults;
}

}  // namespace vicinal::testing
