// Types and functions shared by the parts of the module vicinal._core.
#pragma once

#include <nanobind/nanobind.h>

#include <memory>
#include <string_view>
#include <vector>

#include "base/error.hpp"
#include "locality/machine.hpp"
#include "pattern/pattern.hpp"
#include "plan/placement.hpp"
#include "plan/plan.hpp"

namespace vicinal::python {

/// A machine, shared by all plans made on it.
struct SharedMachine {
  std::shared_ptr<const Machine> machine;
};

/// The patterns of all ranks.
struct Patterns {
  std::vector<Pattern> by_rank;
};

/// The plans of all ranks in one direction, and in the other direction if they were made.
struct PlanSet {
  std::shared_ptr<const Machine> machine;
  std::shared_ptr<const std::vector<Plan>> plans;
  std::shared_ptr<const std::vector<Plan>> reverse;

  [[nodiscard]] const Plan& of(int rank) const {
    require(rank >= 0 && rank < machine->size(), Fault::rank, "rank ", rank,
            " was asked for, but there are ranks 0 to ", machine->size() - 1);
    return (*plans)[static_cast<std::size_t>(rank)];
  }
};

/// Read Python's memory ('host' or 'device') and transport of device buffers. Throw argument
/// faults.
bool lies_on_device(std::string_view memory);
DeviceTransport require_device_transport(std::string_view name);

void bind_exchanges(nanobind::module_& module);
void bind_patterns(nanobind::module_& module);
void bind_plans(nanobind::module_& module);
void bind_profile(nanobind::module_& module);

}  // namespace vicinal::python
