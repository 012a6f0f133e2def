// automatic: serves each region pair directly, by leaders (as many as its bytes justify), or by
// each contributor for itself. It takes the alternative that leaves the least work to the busiest
// rank of both regions. `direct`, `split` and `two-step` are its extremes, so a pattern with
// nothing to gain does not pay for aggregation.
//
// Cost: that of `direct`, `split` or `two-step`, pair by pair. Source: the loads in
// cost/region_loads.
//
// Three kinds of exchange go to other planners:
//   - An allgather over all ranks uses the allgather planner that is fastest by the profile.
//   - An exchange between all ranks uses `tuna` or `tuna-hierarchical` if storing and forwarding is
//     expected to be clearly faster (tuna/negotiation.hpp). The ranks decide in a tree allreduce.
//   - A graph of many edges between many small regions uses `cascade` if that is expected to be
//     clearly faster (cascade/choice.hpp). The ranks decide in a tree allreduce.
#include <algorithm>
#include <array>
#include <cstdint>
#include <functional>
#include <iomanip>
#include <memory>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include "cost/cores.hpp"
#include "negotiate/planner.hpp"
#include "planners/all.hpp"
#include "planners/allgather/estimate.hpp"
#include "planners/cascade/choice.hpp"
#include "planners/halving/negotiation.hpp"
#include "planners/relay/negotiation.hpp"
#include "planners/tuna/negotiation.hpp"

namespace vicinal::allgather {

// The choice of a planner for an allgather over all ranks needs no communication. It follows from
// data that all ranks have in common: the machine, the profile, and the counts of all blocks. A
// failed rank may have other counts, and thus choose another planner. But the ranks compare these
// counts, too (comparison.hpp). So no planner reads a control message of another, and all ranks
// learn of the fault.
//
// The estimates are cached for the next rank that asks for the same, as all virtual ranks do.

namespace {

struct Choice {
  std::string_view planner;
  std::string reason;  ///< the time of each planner, for users
};

struct Known {
  std::weak_ptr<const Machine> machine;
  std::vector<std::int64_t> bytes;
  bool shared_memory = false;
  Profile profile;
  std::vector<Estimate> estimates;  ///< the fastest first
};

/// Returns the bytes of each rank's block. A missing block is reported as a fault later.
std::vector<std::int64_t> bytes_of_blocks(const PlanRequest& request) {
  std::vector<std::int64_t> bytes(static_cast<std::size_t>(request.neighborhood.machine->size()));
  for (const InEdge& edge : request.pattern.in) {
    bytes[static_cast<std::size_t>(edge.rank)] = edge.count * request.options.element_bytes;
  }
  return bytes;
}

const std::vector<Estimate>& estimates_for(const PlanRequest& request) {
  thread_local Known known;
  const std::shared_ptr<const Machine>& machine = request.neighborhood.machine;
  const PlanOptions& options = request.options;
  std::vector<std::int64_t> bytes = bytes_of_blocks(request);
  if (known.machine.lock() == machine && known.bytes == bytes &&
      known.shared_memory == options.shared_memory && known.profile == options.profile) {
    return known.estimates;
  }
  known = {machine, std::move(bytes), options.shared_memory, options.profile, {}};
  known.estimates = estimate_all({*machine, known.profile, known.bytes, known.shared_memory});
  // Among planners of equal time, the first of the table comes first.
  std::stable_sort(known.estimates.begin(), known.estimates.end(),
                   [](const Estimate& a, const Estimate& b) { return a.time < b.time; });
  return known.estimates;
}

/// Returns whether a planner uses regions. Other planners send from each rank in each round. Where
/// ranks share cores, that takes several times the profile's estimate (32 ranks on 2 cores, 1 KiB:
/// 3 ms, but 1 ms by leaders). Elsewhere, there is little to win.
bool heeds_regions(const Estimate& estimate) {
  constexpr std::array<std::string_view, 3> heedless = {"recursive-doubling", "bruck",
                                                        "dissemination"};
  return std::ranges::find(heedless, estimate.planner) == heedless.end();
}

Choice choose(const PlanRequest& request) {
  std::vector<Estimate> estimates = estimates_for(request);
  const Machine& machine = *request.neighborhood.machine;
  if (machine.regions() > 1 && machine.regions() < machine.size()) {
    std::erase_if(estimates, std::not_fn(heeds_regions));
  }
  std::ostringstream reason;
  reason << std::fixed << std::setprecision(1) << "by the profile it takes";
  for (const Estimate& it : estimates) {
    if (&it != estimates.data()) reason << (&it == &estimates[1] ? ", and " : ", ") << it.planner;
    reason << " " << static_cast<double>(it.time) / 1e6 << " us";
  }
  return {estimates.front().planner, std::move(reason).str()};
}

}  // namespace

}  // namespace vicinal::allgather

namespace vicinal {

namespace {

Task<Plans> plan_among_all(PlanRequest request) {
  allgather::Choice choice = allgather::choose(request);
  Task<Plans> making = find_planner(choice.planner).plan(std::move(request));
  Plans plans = co_await making;
  plans.reason = std::move(choice.reason);
  co_return plans;
}

/// Plans with relays. Where ranks share cores, each saved message also saves context switches,
/// which no profile contains. On 4 hosts of 8 ranks with 2 cores in total, the estimate's direct
/// messages took 1.3 to 2.1 times as long.
Task<Plans> plan_by_relays(PlanRequest request) {
  const bool is_crowded = shares_cores(*request.neighborhood.machine, request.options.profile);
  RelayPolicy policy;
  policy.decision =
      is_crowded ? RelayPolicy::Decision::fewer_messages : RelayPolicy::Decision::cheaper;
  policy.division = is_crowded ? RelayPolicy::Division::bytes : RelayPolicy::Division::best;
  policy.order = RelayPolicy::Order::rotated;
  policy.share_local = true;
  return plan_with(std::move(request), policy, "automatic");
}

/// Plans with `tuna` or `tuna-hierarchical` if the ranks decide to forward, else with relays. If
/// the decision fails, the relays report `request.fault`.
Task<Plans> plan_between_all(PlanRequest request) {
  FaultRecord faults(request.neighborhood.rank, request.options.unit);
  if (request.fault) faults.blame(*request.fault);
  Task<tuna::Decision> deciding = tuna::decide(request, faults, tuna::Among::planners);
  tuna::Decision decision = co_await deciding;
  if (!faults.good() || !decision.forwards) {
    Task<Plans> making = plan_by_relays(std::move(request));
    co_return co_await making;
  }
  tuna::TunaNegotiation negotiation(request);
  Task<Plans> making =
      negotiation.run(decision.scheme, decision.scheme.by_region ? "tuna-hierarchical" : "tuna",
                      std::move(decision.reason));
  co_return co_await making;
}

/// Returns whether storing and forwarding is considered. Up to 3 ranks, no block passes an
/// intermediate rank. A partition that becomes ready must not wait for other blocks. Forwarded
/// large blocks take several times as long, so a guessed element size (any_size) excludes
/// forwarding.
bool may_forward(const PlanRequest& request) {
  const PlanOptions& options = request.options;
  return options.complete && !options.partitioned && !options.any_size &&
         request.neighborhood.takes_part() && request.neighborhood.machine->size() > 3;
}

cascade::Volume volume_of(const PlanRequest& request) {
  if (request.fault) return {};
  return {halving::make_parcels(request.pattern, request.neighborhood.rank), request.neighborhood};
}

/// As plan_between_all(), with `cascade` in place of `tuna`.
Task<Plans> plan_between_regions(PlanRequest request) {
  FaultRecord faults(request.neighborhood.rank, request.options.unit);
  if (request.fault) faults.blame(*request.fault);
  Task<cascade::Decision> deciding =
      cascade::decide(request, faults, volume_of(request), cascade::Among::planners);
  cascade::Decision decision = co_await deciding;
  if (!faults.good() || !decision.passes_on) {
    Task<Plans> making = plan_by_relays(std::move(request));
    co_return co_await making;
  }
  halving::HalvingNegotiation negotiation(request, std::move(decision));
  Task<Plans> making = negotiation.run("cascade");
  co_return co_await making;
}

/// Returns whether a cascade may win: some rank has many edges, and there are many regions for each
/// member of one. Other graphs skip the decision, which costs two control messages per rank. All
/// ranks compute the same result from the graph.
bool may_pass_on(const PlanRequest& request) {
  const PlanOptions& options = request.options;
  const Neighborhood& neighborhood = request.neighborhood;
  const std::int64_t regions = neighborhood.machine->regions();
  const std::int64_t ranks = neighborhood.machine->size();
  constexpr std::int64_t many_edges = 12, many_regions_for_each = 8;
  return neighborhood.takes_part() && neighborhood.most_edges >= many_edges &&
         regions * regions >= many_regions_for_each * ranks && !options.partitioned &&
         !options.any_size;
}

Task<Plans> plan_automatic(PlanRequest request) {
  if (request.options.complete && request.options.one_block) {
    return plan_among_all(std::move(request));
  }
  if (may_forward(request)) return plan_between_all(std::move(request));
  if (!request.options.complete && may_pass_on(request)) {
    return plan_between_regions(std::move(request));
  }
  return plan_by_relays(std::move(request));
}

}  // namespace

const PlannerKind kind_of_automatic = {
    "split, two-step or direct for each region pair, or cascade, by the cost model",
    plan_automatic};

}  // namespace vicinal
