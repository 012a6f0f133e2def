// Decisions by the fingerprint of a rank's part of the pattern.
#include "choose/decisions.hpp"

#include <exception>
#include <map>

#include "base/guarded.hpp"
#include "base/no_destructor.hpp"
#include "base/scramble.hpp"
#include "negotiate/comparison.hpp"

namespace vicinal {

namespace {

/// A program with more patterns than this seldom needs its oldest decisions.
constexpr std::size_t most_remembered = 4096;

struct Memory {
  Mutex mutex;
  std::map<std::uint64_t, std::int64_t> planners VICINAL_GUARDED_BY(mutex);
};

Memory& memory() {
  static NoDestructor<Memory> instance;
  return *instance;
}

}  // namespace

std::uint64_t decision_key(const PlanningTask& task) {
  Mixer mixer;
  const Neighborhood& neighborhood = task.neighborhood;
  const Machine& machine = *neighborhood.machine;
  mixer.add(neighborhood.rank, machine.size(), machine.region_of(neighborhood.rank), task.channels,
            task.options.element_bytes, task.pattern.identity);
  mixer.add(fingerprint(given_alike(*task.planner, task.options, task.pattern)));
  for (const OutEdge& edge : task.pattern.out) {
    mixer.add(edge.rank, edge.items.size());
    for (const ItemRun& run : edge.items) mixer.add(run.identity, run.position, run.count);
  }
  for (const InEdge& edge : task.pattern.in) {
    mixer.add(edge.rank, edge.count, edge.slots.size());
    for (const CopyRun& run : edge.slots) mixer.add(run.source, run.target, run.count);
  }
  return mixer.value();
}

std::int64_t recall_decision(std::uint64_t key) {
  const Lock lock(memory().mutex);
  const auto found = memory().planners.find(key);
  return found == memory().planners.end() ? 0 : found->second;
}

std::int64_t number_of(std::string_view planner) { return fingerprint(planner); }

void remember_decision(std::uint64_t key, std::string_view planner) noexcept {
  try {
    const Lock lock(memory().mutex);
    if (memory().planners.size() >= most_remembered) memory().planners.clear();
    memory().planners[key] = number_of(planner);
  } catch (const std::exception&) {
    // If this fails to allocate, the next contest measures again.
  }
}

void forget_decisions() noexcept {
  const Lock lock(memory().mutex);
  memory().planners.clear();
}

}  // namespace vicinal
