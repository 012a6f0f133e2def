// Compares requests along the component's tree, which exists since the creation of the graph.
#include "negotiate/plan_alike.hpp"

#include "base/scramble.hpp"
#include "cost/profile_json.hpp"
#include "negotiate/comparison.hpp"

namespace vicinal {

namespace {

/// Returns the counts that a rank sends minus those that it expects, each edge with an odd weight
/// of its own. Summed over all ranks, this is 0 if all counts agree, and (nearly) only then.
std::uint64_t count_difference(int rank, const Pattern& pattern) {
  const auto weight = [](int from, int to) {
    return scramble((static_cast<std::uint64_t>(from) << 32U) | static_cast<std::uint32_t>(to)) |
           1U;
  };
  std::uint64_t difference = 0;
  for (const OutEdge& edge : pattern.out) {
    difference += weight(rank, edge.rank) * static_cast<std::uint64_t>(item_count(edge));
  }
  for (const InEdge& edge : pattern.in) {
    difference -= weight(edge.rank, rank) * static_cast<std::uint64_t>(edge.count);
  }
  return difference;
}

}  // namespace

std::vector<Given> given_alike(const Planner& planner, const PlanOptions& options,
                               const Pattern& pattern) {
  const bool among_all = options.complete && options.one_block;
  std::vector<Given> given{
      {"vicinal_progress",
       options.strict_progress ? "strict" : "relaxed"},  // may change the planner
      {among_all ? "vicinal_allgather" : "vicinal_strategy", std::string(planner.name)},
      {"vicinal_local", options.shared_memory ? "shared" : "messages"},
      {"vicinal_split_bytes", std::to_string(options.split_bytes)},
      {"vicinal_radix", std::to_string(options.radix)},
      {"vicinal_profile", identity(options.profile)},
      {"vicinal_verify", options.verify ? "1" : "0"},
      {"vicinal_choice", std::string(name(options.choice))},
      {"vicinal_plan_after", std::to_string(options.plan_after)},
      {"vicinal_bias", options.bias.text()},
      {"vicinal_wisdom", options.wisdom},
      {"the exchange", options.partitioned ? "in partitions" : "as a whole"},
  };
  if (options.index_bytes) {
    given.push_back({"the size of what moves for an index of this halo",
                     std::to_string(*options.index_bytes) + " bytes", Fault::count});
  }
  if (!among_all) return given;
  for (const InEdge& edge : pattern.in) {
    given.push_back({"the block of rank " + std::to_string(edge.rank) + " in this allgather",
                     std::to_string(edge.count) + " " + options.unit, Fault::count});
  }
  return given;
}

Task<bool> compare_counts(Conversation& talk, const Planner& planner, const PlanRequest& request) {
  if (!request.neighborhood.takes_part()) co_return true;
  FaultRecord faults(request.neighborhood.rank, request.options.unit);
  if (request.fault) faults.blame(*request.fault);
  Task<std::uint64_t> comparing =
      require_same(talk, request.neighborhood.tree, faults,
                   given_alike(planner, request.options, request.pattern),
                   count_difference(request.neighborhood.rank, request.pattern));
  const std::uint64_t difference = co_await comparing;
  co_return difference == 0;
}

Task<Done> require_alike(Conversation& talk, const Planner& planner, const PlanRequest& request) {
  Task<bool> comparing = compare_counts(talk, planner, request);
  co_await comparing;
  co_return Done{};
}

Task<Plans> plan_alike(const Planner& planner, PlanRequest request) {
  request.conversation.set_purpose("planning " + std::string(planner.name));
  Task<Done> comparing = require_alike(request.conversation, planner, request);
  co_await comparing;
  co_return co_await planner.plan(std::move(request));
}

}  // namespace vicinal
