// Prices and simulated timelines of the plans of all ranks, for Python.
#pragma once

#include <nanobind/nanobind.h>

#include <optional>
#include <string_view>

#include "arrays.hpp"
#include "core.hpp"
#include "cost/profile.hpp"

namespace vicinal::python {

nanobind::dict price_of(const PlanSet& set, const std::optional<Profile>& profile,
                        Index element_bytes, std::string_view memory,
                        std::string_view device_transport);
nanobind::dict simulation_of(const PlanSet& set, const std::optional<Profile>& profile,
                             Index element_bytes);
/// Returns the spans of a rank, from the times at which each operation had begun, was done and
/// complete.
nanobind::dict spans_of(const ArrayArgument<double>& begun, const ArrayArgument<double>& done,
                        const ArrayArgument<double>& complete);

}  // namespace vicinal::python
