// distance-halving: the regions are halved until one is left; in each step a rank hands its data
// and the duty to deliver it in the other half to an agent there, the rank with which it shares
// most neighbours on that side. What a rank then carries, it delivers in one message per
// destination.
//
// Wins in dense or irregular graphs with many regions and small items, where direct sends a message
// per neighbour: with r regions a rank sends at most one message per step, ceil(log2 r) if regions
// are equal, and one to each neighbour that is left, mostly of its own region. The price is bytes:
// the paper forwards the whole buffer, which may double in each step ("distance-halving"); the
// other planner forwards only what is wanted on the other side, and so serves all patterns.
//
// In the paper a rank has one origin in a step at most. Some ranks are then left without an agent,
// the surplus of the larger half among them, and send to each of their neighbours there, for their
// origins too: at 2,000 ranks in 100 regions and a density of 0.3, 27 messages between regions per
// rank on average and 307 at most. Where a rank may take the load of two others when there is
// nobody else, as the pruned planner lets it, it is 7 and 66.
//
// Source: Sharifian et al. 2024, algorithms 1 to 4. Agents are selected differently, by region leaders of
// regions in a fixed number of rounds (halving/region_leader.hpp).
#include "planners/all.hpp"
#include "planners/halving/agents.hpp"
#include "planners/halving/negotiator.hpp"
#include "planners/halving/write_plan.hpp"

namespace vicinal {

namespace {

using halving::Halves;
using halving::HalvingNegotiator;
using halving::HalvingRoutes;
using halving::Load;
using halving::StepPartners;

Task<Plans> plan_halving(PlanRequest request, Load load, int most_origins,
                         std::string_view planner) {
  const Neighborhood& neighborhood = request.neighborhood;
  const Halves halves(*neighborhood.machine, neighborhood.region());
  HalvingNegotiator negotiator(request, halves, load);
  if (negotiator.takes_part()) {
    Conversation& talk = request.conversation;
    std::vector<Letter> outbox = negotiator.write_edges();
    negotiator.read_edges(co_await talk.exchange(std::move(outbox), negotiator.expected_edges()));

    std::vector<StepPartners> steps;
    if (halves.steps() > 0) {
      steps = co_await find_agents(talk, neighborhood, halves, negotiator.region_leaders(),
                                   most_origins);
    }
    for (int step = 0; step < halves.steps(); ++step) {
      const StepPartners& partners = steps[static_cast<std::size_t>(step)];
      outbox.clear();
      if (partners.agent >= 0) outbox = negotiator.write_hop(step, partners.agent);
      const std::vector<Letter> inbox =
          co_await talk.exchange(std::move(outbox), {partners.origins, "parcels"});
      for (const Letter& letter : inbox) negotiator.read_arrival(letter);
    }

    outbox = negotiator.write_deliveries();
    negotiator.read_deliveries(
        co_await talk.exchange(std::move(outbox), negotiator.expected_deliveries()));
  }
  const HalvingRoutes routes = negotiator.finish();
  Plan plan = write_halving(routes, neighborhood.rank, neighborhood.machine->size(), planner);
  co_return Plans{std::move(plan), std::nullopt};
}

}  // namespace

Task<Plans> plan_distance_halving(PlanRequest request) {
  return plan_halving(std::move(request), Load::whole_buffer, 1, "distance-halving");
}

Task<Plans> plan_distance_halving_pruned(PlanRequest request) {
  return plan_halving(std::move(request), Load::pruned, 2, "distance-halving-pruned");
}

}  // namespace vicinal
