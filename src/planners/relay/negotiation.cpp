// The five supersteps of negotiation.hpp, in order. What is said in each is in introduce.cpp (1-3),
// place.cpp (4) and settle.cpp (5); this file only shows the course of the conversation.
#include "planners/relay/negotiator.hpp"

namespace vicinal {

Task<Routes> negotiate(PlanRequest request, RelayPolicy policy) {
  Negotiator self(request, policy);
  if (!self.takes_part()) co_return self.finish();
  Conversation& talk = request.conversation;

  if (policy.decision != RelayPolicy::Decision::never) {
    Letters outbox = self.write_summaries();
    self.read_summaries(co_await talk.exchange(std::move(outbox), self.expected_summaries()));

    outbox = self.write_streams_and_introductions();
    self.read_streams_and_introductions(
        co_await talk.exchange(std::move(outbox), self.expected_streams_and_introductions()));

    outbox = self.forward_introductions();
    self.read_introductions(
        co_await talk.exchange(std::move(outbox), self.expected_introductions()));

    outbox = self.write_placements_layouts_verdicts();
    self.read_placements_layouts_verdicts(
        co_await talk.exchange(std::move(outbox), self.expected_placements_layouts_verdicts()));
  }

  Letters outbox = self.write_deliveries_and_offers();
  self.read_deliveries_and_offers(
      co_await talk.exchange(std::move(outbox), self.expected_deliveries_and_offers()));
  co_return self.finish();
}

}  // namespace vicinal
