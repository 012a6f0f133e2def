// The layout of a plan with capacities.
#include "collectives/capacity_plan.hpp"

namespace vicinal {

namespace {

constexpr std::int64_t word_bytes = 8;

}  // namespace

bool is_more_than_direct(const Plan& plan, const Neighborhood& neighborhood) {
  std::size_t sends = 0;
  for (const Operation& operation : plan.operations) {
    if (operation.kind == OperationKind::signal) return true;
    if (operation.kind == OperationKind::send) ++sends;
  }
  const auto to_others =
      std::count_if(neighborhood.destinations.begin(), neighborhood.destinations.end(),
                    [&](int rank) { return rank != neighborhood.rank; });
  return sends != static_cast<std::size_t>(to_others);
}

CapacityPlan::Rooms::Rooms(std::vector<std::int64_t> all) : capacities(std::move(all)) {
  for (std::size_t piece = 0; piece < capacities.size(); ++piece) {
    places.push_back(words);
    words += size(piece);
  }
}

Binding CapacityPlan::ChannelState::binding() {
  Binding binding;
  binding.source = reinterpret_cast<const std::byte*>(source.data());
  binding.target = reinterpret_cast<std::byte*>(target.data());
  binding.element_bytes = word_bytes;
  return binding;
}

void CapacityPlan::make_channels() {
  for (std::size_t i = 0; i < channels.size(); ++i) {
    ChannelState& state = channels[i];
    state.source.resize(static_cast<std::size_t>(out.words));
    state.target.resize(static_cast<std::size_t>(in.words));
    const int channel = static_cast<int>(i);
    chosen.plan->channel(false, channel).bind(state.binding());
    state.executions =
        std::make_unique<Executions>(chosen, false, channel, Executions::Progress::by_caller);
  }
}

bool CapacityPlan::is_better_direct(const Neighborhood& neighborhood) const {
  const auto winner = chosen.contest ? chosen.contest->winner() : nullptr;
  return winner && !is_more_than_direct(winner->forward(), neighborhood);
}

}  // namespace vicinal
