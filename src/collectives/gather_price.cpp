// MPI's own allgather is assumed to use the best of the algorithms that MPICH and Open MPI choose
// from (recursive doubling, Bruck's, the ring). Within a host it is assumed to use messages, too.
#include "collectives/gather_price.hpp"

#include <algorithm>
#include <array>
#include <limits>
#include <string_view>

#include "planners/allgather/estimate.hpp"

namespace vicinal {
namespace {

constexpr std::array<std::string_view, 3> of_mpi = {"bruck", "recursive-doubling", "ring"};
constexpr double pico = 1e-12;

}  // namespace

GatherPrice price_of_gather(const Machine& machine, const PlanOptions& options,
                            std::span<const std::int64_t> bytes) {
  constexpr auto never = std::numeric_limits<Picoseconds>::max();
  Picoseconds by_plan = never, by_mpi = never;
  for (const auto& it :
       allgather::estimate_all({machine, options.profile, bytes, options.shared_memory})) {
    by_plan = std::min(by_plan, it.time);
  }
  for (const auto& it : allgather::estimate_all({machine, options.profile, bytes, false})) {
    const bool is_of_mpi = std::find(of_mpi.begin(), of_mpi.end(), it.planner) != of_mpi.end();
    if (is_of_mpi) by_mpi = std::min(by_mpi, it.time);
  }
  return {static_cast<double>(by_plan) * pico, static_cast<double>(by_mpi) * pico};
}

}  // namespace vicinal
