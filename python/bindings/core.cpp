// The module vicinal._core: all parts of the library without MPI. Its planners run on virtual
// ranks. So a person can inspect the plans of thousands of ranks without a launcher, and a test can
// see all ranks at once.
#include "core.hpp"

#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/string_view.h>
#include <nanobind/stl/vector.h>

#include <numeric>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "arrays.hpp"
#include "errors.hpp"
#include "negotiate/planner.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace vicinal::python {

namespace {

PlanOptions asking_for(bool with_reverse, bool one_block, bool complete) {
  PlanOptions options;
  options.with_reverse = with_reverse;
  options.one_block = one_block;
  options.complete = complete;
  return options;
}

void require_serving(std::string_view strategy, bool with_reverse, bool one_block, bool complete) {
  require_serves(find_planner(strategy), asking_for(with_reverse, one_block, complete));
}

std::vector<std::pair<std::string, std::string>> strategies(bool with_reverse, bool one_block,
                                                            bool complete) {
  std::vector<std::pair<std::string, std::string>> result;
  for (const Planner& planner : planners()) {
    if (!serves(planner, asking_for(with_reverse, one_block, complete))) continue;
    result.emplace_back(planner.name, planner.summary);
  }
  return result;
}

nb::ndarray<nb::numpy, int> regions_from_text(std::string_view text, int size,
                                              const std::optional<ArrayArgument<int>>& node_of) {
  require(size >= 1, Fault::argument, size, " ranks were given; there must be at least one");
  DetectedPlaces places;
  places.node_of.assign(static_cast<std::size_t>(size), 0);
  if (node_of) places.node_of = vector_of(*node_of);
  require(places.node_of.size() == static_cast<std::size_t>(size), Fault::topology,
          "nodes were given for ", places.node_of.size(), " of ", size,
          " ranks; give one for each");
  places.numa_of = places.node_of;
  return new_array(read_regions(text, places));
}

template <class Label>
nb::ndarray<nb::numpy, int> labels(const Machine& machine, Label label) {
  std::vector<int> result;
  for (int rank = 0; rank < machine.size(); ++rank) result.push_back(label(rank));
  return new_array(std::move(result));
}

void bind_machine(nb::module_& module) {
  nb::class_<SharedMachine>(module, "Machine", "Where ranks live: their regions and hosts.")
      .def(
          "__init__",
          [](SharedMachine* place, const ArrayArgument<int>& region_of,
             const ArrayArgument<int>& host_of,
             const std::optional<ArrayArgument<int>>& domain_of) {
            std::vector<int> domains;
            if (domain_of) domains = vector_of(*domain_of);
            auto machine = std::make_shared<const Machine>(vector_of(region_of), vector_of(host_of),
                                                           std::move(domains));
            new (place) SharedMachine{std::move(machine)};
          },
          "region_of"_a, "host_of"_a, "domain_of"_a = nb::none(),
          "Labels, one for each rank; they are numbered anew, in order of their lowest rank. Ranks "
          "of one region and domain are nearer than others of the region; without `domain_of`, "
          "none are.")
      .def_prop_ro(
          "size", [](const SharedMachine& it) { return it.machine->size(); },
          "The number of ranks.")
      .def_prop_ro(
          "regions", [](const SharedMachine& it) { return it.machine->regions(); },
          "The number of regions.")
      .def_prop_ro(
          "hosts", [](const SharedMachine& it) { return it.machine->hosts(); },
          "The number of hosts.")
      .def_prop_ro(
          "region_of",
          [](const SharedMachine& it) {
            return labels(*it.machine, [&](int rank) { return it.machine->region_of(rank); });
          },
          nb::rv_policy::move, "The region of each rank.")
      .def_prop_ro(
          "host_of",
          [](const SharedMachine& it) {
            return labels(*it.machine, [&](int rank) { return it.machine->host_of(rank); });
          },
          nb::rv_policy::move, "The host of each rank.");
}

}  // namespace

}  // namespace vicinal::python

NB_MODULE(VICINAL_MODULE, m) {
  namespace py = vicinal::python;
  m.doc() = "Patterns, plans and planners, without MPI.";
  nb::set_leak_warnings(false);  // global objects of a program live to its end
  py::translate_errors();
  m.attr("__version__") = VICINAL_VERSION_STRING;
  m.def("strategies", &py::strategies, "with_reverse"_a = false, "one_block"_a = true,
        "complete"_a = false,
        "The name of each strategy that serves such exchanges, and what it does. With "
        "`with_reverse`, "
        "those that serve the reverse too; without `one_block`, those that serve more than "
        "allgathers; with `complete`, those too that serve exchanges over a whole communicator "
        "only.");
  m.def("require_serves", &py::require_serving, "strategy"_a, nb::kw_only(), "with_reverse"_a,
        "one_block"_a, "complete"_a = false,
        "Refuses a strategy that does not serve such exchanges, with the reason.");
  m.def(
      "read_regions", &py::regions_from_text, "text"_a, "size"_a, "node_of"_a = nb::none(),
      "The region of each rank, from a text such as \"blocks:4\". All ranks are taken to be on one "
      "node, which is one NUMA domain, unless `node_of` names the node of each.");
  py::bind_machine(m);
  py::bind_patterns(m);
  py::bind_profile(m);
  py::bind_plans(m);
  py::bind_exchanges(m);
}
