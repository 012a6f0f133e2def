// What the parts of the module vicinal._core have in common.
#pragma once

#include <nanobind/nanobind.h>

#include <memory>
#include <string_view>
#include <vector>

#include "locality/machine.hpp"
#include "pattern/pattern.hpp"
#include "plan/placement.hpp"

namespace vicinal::python {

/// A machine is shared by all that is planned on it.
struct SharedMachine {
  std::shared_ptr<const Machine> machine;
};

/// The patterns of all ranks.
struct Patterns {
  std::vector<Pattern> by_rank;
};

/// What Python says of where buffers lie, 'host' or 'device', and by which way they are moved. Throw argument faults.
bool lies_on_device(std::string_view memory);
DeviceWay require_device_way(std::string_view name);

void bind_exchanges(nanobind::module_& module);
void bind_patterns(nanobind::module_& module);
void bind_plans(nanobind::module_& module);
void bind_profile(nanobind::module_& module);

}  // namespace vicinal::python
