// Plans of all ranks, made on virtual ranks, and their statistics, prices and texts.
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/string_view.h>

#include <iterator>
#include <map>
#include <optional>
#include <sstream>
#include <string>
#include <string_view>
#ifdef __GLIBC__
#include <malloc.h>
#endif

#include "arrays.hpp"
#include "core.hpp"
#include "core_prices.hpp"
#include "cost/profile.hpp"
#include "errors.hpp"
#include "negotiate/virtual_ranks.hpp"
#include "plan/checks.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace vicinal::python {

namespace {

using Numbers = std::vector<std::int64_t>;

/// Returns freed heap memory to the system. With many ranks, planning frees as much as it keeps,
/// interleaved with it.
void give_freed_memory_back() {
#ifdef __GLIBC__
  malloc_trim(0);
#endif
}

PlanSet make_plans(std::string_view strategy, const SharedMachine& machine,
                   const Patterns& patterns, bool shared_memory, bool with_reverse, bool one_block,
                   bool complete, Index element_bytes, Index split_bytes, int leader_shift,
                   int group_size, int radix, bool idle_ranks_lead, const Profile* profile,
                   std::string_view memory, std::optional<std::string_view> device_transport) {
  require(element_bytes >= 1 && split_bytes >= 0 && leader_shift >= 0 && group_size >= 0,
          Fault::argument, "element_bytes=", element_bytes, ", split_bytes=", split_bytes,
          ", leader_shift=", leader_shift, " and group_size=", group_size,
          " were given; the first must be positive, the others not negative");
  require(radix == 0 || radix >= 2, Fault::argument, "radix=", radix,
          " was given; it must be 0 or at least 2");
  PlanOptions options;
  options.shared_memory = shared_memory;
  options.with_reverse = with_reverse;
  options.one_block = one_block;
  options.complete = complete;
  options.element_bytes = element_bytes;
  options.split_bytes = split_bytes;
  options.leader_shift = leader_shift;
  options.group_size = group_size;
  options.radix = radix;
  options.idle_ranks_lead = idle_ranks_lead;
  if (profile != nullptr) options.profile = *profile;
  options.on_device = lies_on_device(memory);
  if (device_transport) options.device_transport = require_device_transport(*device_transport);
  const nb::gil_scoped_release released;
  auto both = plan_virtually(find_planner(strategy), machine.machine, patterns.by_rank, options);
  auto forward = std::make_shared<std::vector<Plan>>();
  auto reverse = std::make_shared<std::vector<Plan>>();
  forward->reserve(both.size());
  for (Plans& plans : both) {
    forward->push_back(std::move(plans.forward));
    if (plans.reverse) reverse->push_back(std::move(*plans.reverse));
  }
  if (!with_reverse) reverse = nullptr;
  std::vector<Plans>().swap(both);
  give_freed_memory_back();
  return {machine.machine, std::move(forward), std::move(reverse)};
}

/// Counts the messages that a rank receives from other regions, and their elements.
Traffic received(const Plan& plan) {
  Traffic traffic;
  for (const Operation& it : plan.operations) {
    if (it.kind != OperationKind::receive || it.local) continue;
    ++traffic.messages;
    traffic.elements += it.count;
  }
  return traffic;
}

nb::dict count_statistics(const PlanSet& set) {
  const std::size_t size = set.plans->size();
  std::map<std::string, Numbers> counts;
  std::map<std::string, std::pair<Numbers, Numbers>> phases;
  const char* const names[] = {"nonlocal_messages",
                               "nonlocal_elements",
                               "local_messages",
                               "local_elements",
                               "shared_elements",
                               "copied_elements",
                               "nonlocal_received_messages",
                               "nonlocal_received_elements"};
  for (const char* name : names) counts[name].resize(size);
  for (std::size_t rank = 0; rank < size; ++rank) {
    const Statistics found = statistics((*set.plans)[rank]);
    const Traffic come = received((*set.plans)[rank]);
    const std::int64_t values[] = {found.non_local.messages,
                                   found.non_local.elements,
                                   found.local.messages,
                                   found.local.elements,
                                   found.shared_elements,
                                   found.copied_elements,
                                   come.messages,
                                   come.elements};
    for (std::size_t i = 0; i < std::size(names); ++i) counts[names[i]][rank] = values[i];
    for (const auto& [label, traffic] : found.sent_in_phase) {
      auto& [messages, elements] = phases[label];
      messages.resize(size);
      elements.resize(size);
      messages[rank] = traffic.messages;
      elements[rank] = traffic.elements;
    }
  }
  nb::dict by_phase;
  for (auto& [label, traffic] : phases) {
    nb::dict phase;
    phase["messages"] = new_array(std::move(traffic.first));
    phase["elements"] = new_array(std::move(traffic.second));
    by_phase[label.c_str()] = phase;
  }
  nb::dict result;
  for (const char* name : names) result[name] = new_array(std::move(counts[name]));
  result["phases"] = by_phase;
  return result;
}

nb::tuple count_region_traffic(const PlanSet& set) {
  const auto regions = static_cast<std::size_t>(set.machine->regions());
  Numbers messages(regions * regions), elements(regions * regions);
  for (const Plan& plan : *set.plans) {
    for (const Operation& it : plan.operations) {
      if (it.kind != OperationKind::send || it.local) continue;
      const auto from = static_cast<std::size_t>(set.machine->region_of(plan.rank));
      const auto to = static_cast<std::size_t>(set.machine->region_of(it.peer));
      ++messages[from * regions + to];
      elements[from * regions + to] += it.count;
    }
  }
  return nb::make_tuple(new_array(std::move(messages), {regions, regions}),
                        new_array(std::move(elements), {regions, regions}));
}

template <class Write>
std::string written(Write write) {
  std::ostringstream out;
  write(out);
  return std::move(out).str();
}

}  // namespace

void bind_plans(nb::module_& module) {
  nb::class_<PlanSet>(module, "PlanSet", "The plans of all ranks, in one direction.")
      .def_static(
          "plan", &make_plans, "strategy"_a, "machine"_a, "patterns"_a, nb::kw_only(),
          "shared_memory"_a = true, "with_reverse"_a = false, "one_block"_a = false,
          "complete"_a = false, "element_bytes"_a = 8, "split_bytes"_a = 0, "leader_shift"_a = 0,
          "group_size"_a = 0, "radix"_a = 0, "idle_ranks_lead"_a = false, "profile"_a = nb::none(),
          "memory"_a = "host", "device_way"_a = nb::none(),
          "Plans for all ranks in this process. `shared_memory`: ranks of a host hand data "
          "over through it, else by messages. `one_block`: each rank sends the same items on "
          "all of its edges, as in an allgather. `complete`: each rank has an edge to and from "
          "each other, of an allgather also to itself. `element_bytes` and `split_bytes` are for "
          "decisions by cost only; plans are in elements. `group_size`: most ranks of a "
          "common-neighbor group, `radix`: that of tuna, tuna-hierarchical and cascade, 0 for the "
          "cost model's. `idle_ranks_lead`: ranks without edges take part, and may lead there. "
          "`memory`: 'host' or 'device', where the buffers will lie on all ranks; `device_way`: "
          "how what lies on a device is to be moved, None for whichever is fastest.")
      .def_prop_ro(
          "size", [](const PlanSet& it) { return it.machine->size(); }, "The number of ranks.")
      .def_prop_ro(
          "strategy", [](const PlanSet& it) { return it.of(0).planner; },
          "The name of the planner.")
      .def_prop_ro(
          "reverse",
          [](const PlanSet& it) -> std::optional<PlanSet> {
            if (!it.reverse) return std::nullopt;
            return PlanSet{it.machine, it.reverse, it.plans};
          },
          "The plans of the other direction, where they were made.")
      .def("statistics", &count_statistics,
           "What each rank sends and copies in one execution: arrays, by rank, of messages and "
           "elements sent to other regions (nonlocal_...) and inside the region (local_...), and "
           "received from other regions (nonlocal_received_...), of "
           "elements copied into or out of shared memory and within private memory; and under "
           "\"phases\", for each phase label, messages and elements sent.")
      .def(
          "price", &price_of, "profile"_a = nb::none(), "element_bytes"_a = 8, "memory"_a = "host",
          "device_way"_a = "staged",
          "What one execution costs with a profile, the default one if none is given: \"seconds\" "
          "until the last rank is done; under \"phases\", the seconds of each phase label along "
          "the "
          "chain of what waited for what that ends last, which add up to them; \"busy\" and "
          "\"finished\", for each rank how long it occupies its processor and when it is done; and "
          "the \"busiest\" rank. `memory`: 'host' or 'device', where the buffers lie on all ranks; "
          "`device_way`: 'staged', 'direct', 'shared', 'direct-shared', 'lent' or 'direct-lent', "
          "how they "
          "are moved.")
      .def("simulate", &simulation_of, "profile"_a = nb::none(), "element_bytes"_a = 8,
           "The same as `price`, with what happened meanwhile, in seconds. \"busy_by_phase\" and "
           "\"waiting_by_phase\": arrays of ranks by \"phase_names\", which add up to when each "
           "rank "
           "is done. \"operations\": arrays over all operations, those of rank r from first[r] to "
           "first[r + 1] - 1, of their kind (its number in \"kinds\"), phase, peer, bytes, when "
           "each "
           "was ready, had begun on its processor, was done there and complete, and its cause, the "
           "operation that it waited for last, or -1. \"chain\": from the begin to the end, the "
           "operation to which the time since ... until belongs.")
      .def("region_traffic", &count_region_traffic,
           "Messages and elements that really are sent from each region (row) to each other region "
           "(column).")
      .def(
          "verify",
          [](const PlanSet& it, const Patterns& patterns) {
            const nb::gil_scoped_release released;
            verify(*it.plans, patterns.by_rank);
          },
          "patterns"_a,
          "Proves that the plans do what the patterns ask for, without deadlock or races; raises "
          "vicinal.Error with the first finding.")
      .def(
          "text",
          [](const PlanSet& it, int rank) {
            return written([&](std::ostream& out) { write_text(out, it.of(rank)); });
          },
          "rank"_a, "A rank's plan for people.")
      .def(
          "json",
          [](const PlanSet& it, int rank) {
            return written([&](std::ostream& out) { write_json(out, it.of(rank)); });
          },
          "rank"_a, "A rank's plan as a JSON object.")
      .def(
          "goal",
          [](const PlanSet& it, Index element_bytes, double bytes_per_nanosecond, bool signals) {
            return written([&](std::ostream& out) {
              write_goal(out, *it.plans, element_bytes, bytes_per_nanosecond,
                         signals ? GoalSignals::as_messages : GoalSignals::left_out);
            });
          },
          "element_bytes"_a, "bytes_per_nanosecond"_a, nb::kw_only(), "signals"_a = true,
          "The LogGOPSim GOAL program of all ranks. signals: those of a host, and messages without "
          "elements, as empty "
          "messages; else they are left out, and ranks of a host do not wait for each other.");
  module.def("spans", &spans_of, "begun"_a, "done"_a, "complete"_a,
             "What a rank of a simulation does until it is done, by when its operations had begun, "
             "were done and complete: arrays of parts \"since\" ... \"until\", without gaps, of "
             "the \"operation\" (from 0 on) that occupies the rank, where \"busy\", or ends its "
             "waiting.");
}

}  // namespace vicinal::python
