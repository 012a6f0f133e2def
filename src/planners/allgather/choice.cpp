// The estimates, cached for the next rank that asks for the same, as all virtual ranks do.
#include "planners/allgather/choice.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <functional>
#include <iomanip>
#include <memory>
#include <sstream>
#include <vector>

#include "planners/allgather/estimate.hpp"

namespace vicinal::allgather {

namespace {

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

}  // namespace

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

}  // namespace vicinal::allgather
