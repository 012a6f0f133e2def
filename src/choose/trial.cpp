// Executing plans on trial, and how often.
//
// Ranks come together before each plan has its turn: what one plan's executions leave to be waited for is not put down
// to the next one. How many executions a turn has follows from the warm-up's times, and so does the number of rounds,
// so that quick exchanges are timed well and slow ones do not hold a program up for long.
#include "choose/trial.hpp"

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <cstring>

#include "base/product.hpp"
#include "choose/contenders.hpp"

namespace vicinal {

namespace {

/// What the executions of a turn are to take, of the slowest plan, and what all rounds together.
constexpr std::int64_t turn_ns = 200'000;
constexpr std::int64_t all_rounds_ns = 200'000'000;
constexpr std::int64_t most_executions = 32;
constexpr std::int64_t least_rounds = 3;
constexpr std::int64_t most_rounds = 9;
/// Scratch memory up to this is filled.
constexpr std::size_t filled_bytes = std::size_t{64} << 20;

std::int64_t now_ns() {
  const auto time = std::chrono::steady_clock::now().time_since_epoch();
  return std::chrono::duration_cast<std::chrono::nanoseconds>(time).count();
}

struct Extent {
  int executions = 1;
  std::size_t rounds = 1;
};

/// By the times of one execution of each plan, as all ranks know them.
Extent extent_for(const Numbers& times) {
  std::int64_t slowest = 1, together = 1;
  for (const std::int64_t time : times) {
    if (time == untimed) continue;
    slowest = std::max(slowest, time);
    together += std::min(time, all_rounds_ns);
  }
  const std::int64_t executions = std::clamp(turn_ns / slowest, std::int64_t{1}, most_executions);
  const std::int64_t rounds =
      std::clamp(all_rounds_ns / (together * executions), least_rounds, most_rounds);
  return {static_cast<int>(executions), static_cast<std::size_t>(rounds)};
}

}  // namespace

void Trial::Scratch::Free::operator()(std::byte* bytes) const { std::free(bytes); }

Trial::Scratch::Scratch(Index elements, std::int64_t element_bytes) {
  const auto bytes = static_cast<std::size_t>(product(elements, element_bytes));
  bytes_.reset(static_cast<std::byte*>(std::calloc(std::max<std::size_t>(bytes, 1), 1)));
  require(bytes_ != nullptr, Fault::memory, "no memory to try a plan on");
  if (bytes <= filled_bytes) std::memset(bytes_.get(), 0x2a, bytes);
}

Trial::Trial(const std::shared_ptr<AgreedPlan>& plan, std::int64_t element_bytes) {
  for (const bool reverse : {false, true}) {
    if (reverse && !plan->has_reverse()) continue;
    Direction& direction = directions_.emplace_back();
    try {
      direction.execution = std::make_unique<Execution>(plan, reverse, 0);
      const Plan& way = reverse ? plan->reverse() : plan->forward();
      const auto extent = [&](int buffer) {
        return way.buffers[static_cast<std::size_t>(buffer)].extent;
      };
      direction.source.emplace(extent(Plan::source), element_bytes);
      direction.target.emplace(extent(Plan::target), element_bytes);
      Binding binding;
      binding.source = direction.source->data();
      binding.target = direction.target->data();
      binding.element_bytes = element_bytes;
      if (reverse) binding.combine = {ReduceOp::sum, ElementType::float64};
      direction.binding = binding;
    } catch (const std::exception&) {
      continue;  // its executions say so to all
    }
  }
}

bool Trial::execute(Direction& direction) {
  if (!direction.execution) return false;
  Execution& execution = *direction.execution;
  if (!direction.binding) {
    execution.start_at_fault();
    return false;
  }
  try {
    execution.start(*direction.binding);
    execution.wait();
  } catch (const std::exception&) {
    return false;  // this rank's fault or another's: either way all are in step
  }
  return true;
}

std::int64_t Trial::run(int times) {
  bool good = true;
  const std::int64_t begun = now_ns();
  for (Direction& direction : directions_) {
    for (int i = 0; i < times; ++i) good = execute(direction) && good;
  }
  return good ? (now_ns() - begun) / times : untimed;
}

Numbers time_plans(Council& council, std::span<const std::shared_ptr<AgreedPlan>> plans,
                   std::int64_t element_bytes) {
  std::vector<Trial> trials;
  trials.reserve(plans.size());
  Numbers times;
  for (const auto& plan : plans) {
    trials.emplace_back(plan, element_bytes);
    trials.back().run(1);  // buffers are bound, connections made
  }
  for (Trial& trial : trials) {
    council.meet();
    times.push_back(trial.run(1));
  }
  const Extent extent = extent_for(council.largest(std::move(times)));
  Numbers found(plans.size() * extent.rounds);
  for (std::size_t round = 0; round < extent.rounds; ++round) {
    for (std::size_t turn = 0; turn < plans.size(); ++turn) {
      const std::size_t which = (turn + round) % plans.size();
      council.meet();
      found[which * extent.rounds + round] = trials[which].run(extent.executions);
    }
  }
  found = council.largest(std::move(found));
  Numbers medians;
  for (auto first = found.begin(); first != found.end();) {
    const auto last = first + static_cast<std::ptrdiff_t>(extent.rounds);
    medians.push_back(median_of(Numbers(first, last)));
    first = last;
  }
  return medians;
}

std::int64_t median_of(Numbers rounds) {
  std::erase(rounds, untimed);
  if (rounds.empty()) return untimed;
  const auto middle = rounds.begin() + static_cast<std::ptrdiff_t>(rounds.size() / 2);
  std::nth_element(rounds.begin(), middle, rounds.end());
  return *middle;
}

}  // namespace vicinal
