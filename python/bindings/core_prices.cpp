// Prices and timelines as dictionaries of arrays.
#include "core_prices.hpp"

#include <cstdint>
#include <utility>
#include <vector>

#include "cost/price.hpp"
#include "errors.hpp"

namespace nb = nanobind;

namespace vicinal::python {

namespace {

nb::dict described(Price found) {
  nb::dict phases;
  for (std::size_t i = 0; i < phase_count; ++i) {
    if (found.phases[i] > 0) phases[name(static_cast<Phase>(i))] = found.phases[i];
  }
  nb::dict result;
  result["seconds"] = found.seconds;
  result["phases"] = phases;
  result["busiest"] = found.busiest;
  result["busy"] = new_array(std::move(found.busy));
  result["finished"] = new_array(std::move(found.finished));
  return result;
}

template <class Label>
nb::list names(std::size_t count) {
  nb::list result;
  for (std::size_t i = 0; i < count; ++i) result.append(name(static_cast<Label>(i)));
  return result;
}

/// Returns an array of ranks by phases.
auto array_of(const std::vector<Timeline::ByPhase>& ranks) {
  std::vector<double> values;
  for (const Timeline::ByPhase& rank : ranks) {
    values.insert(values.end(), rank.begin(), rank.end());
  }
  return new_array(std::move(values), {ranks.size(), phase_count});
}

/// Returns the operations of the plans, with their times in the timeline.
nb::dict operations_of(const std::vector<Plan>& plans, Timeline& timeline, Index element_bytes) {
  std::vector<int> first{0}, peer;
  std::vector<std::uint8_t> kind, phase;
  std::vector<std::int64_t> bytes;
  for (const Plan& plan : plans) {
    first.push_back(first.back() + static_cast<int>(plan.operations.size()));
    for (const Operation& it : plan.operations) {
      const bool message = it.kind == OperationKind::send || it.kind == OperationKind::receive;
      kind.push_back(static_cast<std::uint8_t>(it.kind));
      phase.push_back(static_cast<std::uint8_t>(it.phase));
      peer.push_back(message ? it.peer : -1);
      bytes.push_back((message ? it.count : total(it.runs)) * element_bytes);
    }
  }
  nb::dict result;
  result["first"] = new_array(std::move(first));
  result["kind"] = new_array(std::move(kind));
  result["phase"] = new_array(std::move(phase));
  result["peer"] = new_array(std::move(peer));
  result["bytes"] = new_array(std::move(bytes));
  result["ready"] = new_array(std::move(timeline.ready));
  result["begun"] = new_array(std::move(timeline.begun));
  result["done"] = new_array(std::move(timeline.done));
  result["complete"] = new_array(std::move(timeline.complete));
  result["cause"] = new_array(std::move(timeline.cause));
  return result;
}

nb::dict chain_of(const std::vector<Timeline::Link>& chain) {
  std::vector<int> operation;
  std::vector<double> since, until;
  for (const Timeline::Link& it : chain) {
    operation.push_back(it.operation);
    since.push_back(it.since);
    until.push_back(it.until);
  }
  nb::dict result;
  result["operation"] = new_array(std::move(operation));
  result["since"] = new_array(std::move(since));
  result["until"] = new_array(std::move(until));
  return result;
}

}  // namespace

nb::dict price_of(const PlanSet& set, const std::optional<Profile>& profile, Index element_bytes,
                  std::string_view memory, std::string_view device_transport) {
  const bool there = lies_on_device(memory);
  const DeviceTransport transport = require_device_transport(device_transport);
  Price found;
  {
    const nb::gil_scoped_release released;
    found = price(*set.plans, *set.machine, profile ? *profile : default_profile(), element_bytes,
                  {there, there}, transport);
  }
  return described(std::move(found));
}

nb::dict spans_of(const ArrayArgument<double>& begun, const ArrayArgument<double>& done,
                  const ArrayArgument<double>& complete) {
  require(begun.size() == done.size() && done.size() == complete.size(), Fault::argument,
          begun.size(), ", ", done.size(), " and ", complete.size(),
          " times were given; give three for each operation");
  std::vector<double> since, until;
  std::vector<int> operation;
  std::vector<std::uint8_t> busy;
  for (const Span& it : spans(span_of(begun), span_of(done), span_of(complete))) {
    since.push_back(it.since);
    until.push_back(it.until);
    operation.push_back(it.operation);
    busy.push_back(it.busy ? 1 : 0);
  }
  nb::dict result;
  result["since"] = new_array(std::move(since));
  result["until"] = new_array(std::move(until));
  result["operation"] = new_array(std::move(operation));
  result["busy"] = new_array(std::move(busy));
  return result;
}

nb::dict simulation_of(const PlanSet& set, const std::optional<Profile>& profile,
                       Index element_bytes) {
  Simulation found;
  {
    const nb::gil_scoped_release released;
    found =
        simulate(*set.plans, *set.machine, profile ? *profile : default_profile(), element_bytes);
  }
  nb::dict result = described(std::move(found.price));
  result["kinds"] = names<OperationKind>(static_cast<std::size_t>(OperationKind::notify) + 1);
  result["phase_names"] = names<Phase>(phase_count);
  result["busy_by_phase"] = array_of(found.timeline.busy);
  result["waiting_by_phase"] = array_of(found.timeline.waiting);
  result["chain"] = chain_of(found.timeline.chain);
  result["operations"] = operations_of(*set.plans, found.timeline, element_bytes);
  return result;
}

}  // namespace vicinal::python
