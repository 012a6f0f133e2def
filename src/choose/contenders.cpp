// Lists of contenders, and comparison of their plans.
#include "choose/contenders.hpp"

#include <algorithm>

#include "base/scramble.hpp"
#include "cost/cores.hpp"

namespace vicinal {

namespace {

/// One message per edge is not tried if its forecast is this many times as long. Its connections
/// and executions would cost more than all others. Wrong forecasts were wrong by a factor of three.
constexpr double hopeless = 4;

void add(Mixer& mixer, const Plan& plan) {
  mixer.add(plan.rank, plan.reverse, plan.buffers.size(), plan.operations.size());
  for (const Buffer& buffer : plan.buffers) {
    mixer.add(buffer.space, buffer.extent, buffer.owner, buffer.peer_index);
  }
  for (const Operation& operation : plan.operations) {
    mixer.add(operation.kind, operation.from, operation.to, operation.offset, operation.count,
              operation.peer, operation.flag, operation.lag);
    for (const CopyRun& run : operation.runs) mixer.add(run.source, run.target, run.count);
    for (const int before : operation.after) mixer.add(before);
  }
}

}  // namespace

std::vector<std::string_view> contenders(const PlanOptions& options) {
  if (options.complete && options.one_block) return {"automatic", "hierarchical", "locality-bruck"};
  if (options.one_block) return {"automatic", "direct", "aggregate", "distance-halving"};
  if (options.complete) return {"automatic", "direct", "aggregate", "tuna-hierarchical"};
  return {"automatic", "direct", "aggregate", "split"};
}

std::vector<std::string_view> contenders_in_use(const PlanOptions& options, const Machine& machine,
                                                const Forecast& forecast) {
  std::vector<std::string_view> names = contenders(options);
  const double by_plan = forecast.by_plan * options.bias.of("automatic");
  const double by_message = forecast.by_message * options.bias.of("direct");
  const bool is_hopeless = by_plan > 0 && by_message > hopeless * by_plan;
  if (is_hopeless) std::erase(names, "direct");
  // If ranks share cores, `automatic` itself is a relay by one leader.
  const bool is_plain = !options.one_block && !options.complete;
  if (is_plain && shares_cores(machine, options.profile)) std::erase(names, "aggregate");
  return names;
}

mpi::ConversationKey contender_key(mpi::ConversationKey of_exchange, std::size_t place) {
  of_exchange.sequence += mpi::plans_per_graph * static_cast<std::int64_t>(place + 1);
  return of_exchange;
}

std::uint64_t fingerprint(const Plan& plan) {
  Mixer mixer;
  add(mixer, plan);
  return mixer.value();
}

std::uint64_t fingerprint(const Plans& plans) {
  Mixer mixer;
  add(mixer, plans.forward);
  if (plans.reverse) add(mixer, *plans.reverse);
  return mixer.value();
}

std::vector<std::size_t> worth_timing(std::span<const std::int64_t> planned,
                                      std::span<const std::int64_t> sums, std::int64_t ranks) {
  std::vector<std::size_t> taken;
  for (std::size_t i = 0; i < planned.size() && taken.size() < most_timed; ++i) {
    const bool another = std::none_of(taken.begin(), taken.end(),
                                      [&](std::size_t before) { return sums[before] == sums[i]; });
    if (planned[i] == ranks && another) taken.push_back(i);
  }
  return taken;
}

Numbers figures_of(std::span<const std::optional<std::uint64_t>> fingerprints) {
  Numbers figures{1};
  for (const auto& fingerprint : fingerprints) {
    figures.push_back(fingerprint ? 1 : 0);
    figures.push_back(static_cast<std::int64_t>(fingerprint.value_or(0)));
  }
  return figures;
}

std::vector<std::size_t> worth_timing(const Numbers& figures) {
  Numbers have, sums;
  for (std::size_t i = 1; i < figures.size(); i += 2) {
    have.push_back(figures[i]);
    sums.push_back(figures[i + 1]);
  }
  return worth_timing(have, sums, figures.front());
}

std::size_t winner(std::span<const std::string_view> names, std::span<const std::int64_t> times,
                   const Bias& bias) {
  std::size_t best = 0;
  double least = std::numeric_limits<double>::infinity();
  for (std::size_t i = 0; i < times.size(); ++i) {
    if (times[i] == untimed) continue;
    const double cost = static_cast<double>(times[i]) * bias.of(names[i]);
    if (cost >= least) continue;
    least = cost;
    best = i;
  }
  return best;
}

}  // namespace vicinal
