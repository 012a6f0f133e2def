// The five supersteps of negotiation.hpp, in order. What is said in each is in introduce.cpp (1-3),
// place.cpp (4) and settle.cpp (5); this file only shows the course of the conversation.
#include "planners/relay/negotiator.hpp"

namespace vicinal {

Task<Routes> negotiate(PlanRequest request, RelayPolicy policy) {
  Negotiator self(request, policy);
  if (!self.takes_part()) co_return self.finish();
  Conversation& talk = request.conversation;

  if (policy.decision != RelayPolicy::Decision::never) {
    Letters summaries = self.write_summaries();
    const std::size_t members = request.neighborhood.active.size();
    Missing missing = [&](Arrived arrived) { return self.missing_summaries(arrived); };
    self.read_summaries(co_await talk.exchange(std::move(summaries), members, std::move(missing)));

    Letters streams = self.write_streams_and_introductions();
    const std::size_t arriving = self.expected_streams_and_introductions();
    missing = [&](Arrived arrived) { return self.missing_streams_and_introductions(arrived); };
    self.read_streams_and_introductions(
        co_await talk.exchange(std::move(streams), arriving, std::move(missing)));

    Letters introductions = self.forward_introductions();
    const std::size_t introduced = self.expected_introductions();
    missing = [&](Arrived arrived) { return self.missing_introductions(arrived); };
    self.read_introductions(
        co_await talk.exchange(std::move(introductions), introduced, std::move(missing)));

    Letters layouts = self.write_placements_layouts_verdicts();
    const std::size_t laid_out = self.expected_placements_layouts_verdicts();
    missing = [&](Arrived arrived) { return self.missing_placements_layouts_verdicts(arrived); };
    self.read_placements_layouts_verdicts(
        co_await talk.exchange(std::move(layouts), laid_out, std::move(missing)));
  }

  Letters deliveries = self.write_deliveries_and_offers();
  const std::size_t delivered = self.expected_deliveries_and_offers();
  Missing missing = [&](Arrived arrived) { return self.missing_deliveries_and_offers(arrived); };
  self.read_deliveries_and_offers(
      co_await talk.exchange(std::move(deliveries), delivered, std::move(missing)));
  co_return self.finish();
}

}  // namespace vicinal
