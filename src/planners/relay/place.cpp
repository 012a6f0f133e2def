// Superstep 4 of a negotiation: sending leaders tell contributors where to put their items, and
// receiving leaders what the message will hold; receiving leaders tell consumers the verdict.
#include "planners/relay/negotiator.hpp"

namespace vicinal {

Via Negotiator::via(int other) const {
  if (other == rank_) return Via::self;
  const bool shared = request_.options.shared_memory && machine_.same_host(rank_, other);
  return shared ? Via::shared : Via::message;
}

std::int64_t Negotiator::new_tag() {
  return faults_.attempt(std::int64_t{-1}, [&] { return request_.site.new_tag(); });
}

std::optional<SlotPair> Negotiator::new_slots(int peers) {
  return faults_.attempt_if_room([&] {
    SlotPair slots{request_.site.new_slot(peers), -1};
    if (request_.options.with_reverse) slots.reverse = request_.site.new_slot(peers);
    return slots;
  });
}

/// Contributors learn from their placement that there is no slot, and tell the leader their tags.
void Negotiator::ask_for_messages(Relay& relay) {
  for (Partner& partner : relay.partners) {
    if (partner.via != Via::shared) continue;
    partner.via = Via::message;
    partner.peer_index = -1;
    untagged_.push_back(partner.rank);
  }
}

void Negotiator::place(OutPair& pair, std::size_t part, Letters& outbox) {
  std::vector<ContributedStream>& streams = pair.contributed[part];
  const bool relayed = pair.verdict == Verdict::relayed;
  const auto& far = pair.far.leaders;
  Relay relay;
  if (relayed) {
    relay.peer = far[part % far.size()];
    relay.tag = new_tag();
    int shared = 0;
    for (const ContributedStream& stream : streams) {
      const Via how = via(stream.rank);
      if (stream.count > 0) {
        const int index = how == Via::shared ? shared++ : -1;
        relay.partners.push_back(
            {stream.rank, how, index, stream.tag, relay.count, stream.count, {}});
      }
      relay.count += stream.count;
    }
    if (shared > 0) {
      const auto slots = new_slots(shared);
      if (slots) relay.slot = *slots;
      if (!slots) ask_for_messages(relay);
    }
  }

  auto partner = relay.partners.begin();
  for (const ContributedStream& stream : streams) {
    Placement placement{faults_.status(), pair.link->region, part, pair.verdict, std::nullopt};
    if (relayed && stream.count > 0) {
      const int index = partner->via == Via::self ? static_cast<int>(routes_.outbound.size())
                                                  : partner->peer_index;
      placement.place = {relay.slot, index, relay.count, partner->offset};
      ++partner;
    }
    outbox.push_back(letter_to(stream.rank, placement));
  }
  if (!relayed) return;

  outbox.push_back(letter_to(relay.peer, Layout{faults_.status(), neighborhood_.region(), part,
                                                relay.tag, relay.count, std::move(streams)}));
  if (relay.count == 0) return;
  relay_of_[{pair.link->region, part}] = routes_.outbound.size();
  routes_.outbound.push_back(std::move(relay));
}

Letters Negotiator::write_placements_layouts_verdicts() {
  Letters outbox;
  for (OutPair& pair : out_) {
    for (const std::size_t part : pair.led) place(pair, part, outbox);
    pair.contributed.clear();
  }
  for (const InPair& pair : in_) {
    if (pair.leaders.front() != rank_) continue;
    const PairVerdict verdict{faults_.status(), pair.link->region, pair.verdict, pair.far.leaders};
    for (const int member : pair.link->members) outbox.push_back(letter_to(member, verdict));
  }
  return outbox;
}

Expected Negotiator::expected_placements_layouts_verdicts() const {
  std::vector<int> placing, sending, judging;
  for (const OutPair& pair : out_) {
    for (const auto& [part, stream] : pair.sent_part) placing.push_back(pair.leaders[part]);
  }
  for (const InPair& pair : in_) {
    if (pair.consumes) judging.push_back(pair.leaders.front());
    if (pair.verdict != Verdict::relayed) continue;
    const auto& far = pair.far.leaders;
    for (std::size_t part = 0; part < far.size(); ++part) {
      if (pair.leaders[part % pair.leaders.size()] == rank_) sending.push_back(far[part]);
    }
  }
  Expected expected;
  expected.add(kind_of(Placement::name), std::move(placing), "placements");
  expected.add(kind_of(Layout::name), std::move(sending), "layouts");
  expected.add(kind_of(PairVerdict::name), std::move(judging), "verdicts");
  return expected;
}

void Negotiator::read_placements_layouts_verdicts(const Letters& inbox) {
  const auto hear = [&](const auto& it) { it.status.pass_on(faults_.status()); };
  for (const Letter& letter : inbox) {
    open<Placement, Layout, PairVerdict>(letter, Either{[&](const Placement& it) {
                                                          hear(it);
                                                          read(letter.peer, it);
                                                        },
                                                        [&](Layout it) {
                                                          hear(it);
                                                          read(letter.peer, std::move(it));
                                                        },
                                                        [&](PairVerdict it) {
                                                          hear(it);
                                                          read(std::move(it));
                                                        }});
  }
}

void Negotiator::read(int leader, const Placement& placement) {
  OutPair& pair = out_pair(placement.region);
  pair.verdict = placement.verdict;
  if (!placement.place) return;
  const Stream& stream = pair.sent_part.at(placement.part);
  Share share;
  share.owner = leader;
  share.via = via(leader);
  share.slot = placement.place->slot;
  share.peer_index = placement.place->peer_index;
  share.extent = placement.place->extent;
  share.offset = placement.place->offset;
  share.tag = pair.sent_tag.at(placement.part);
  if (share.via == Via::shared && share.slot.forward < 0) {
    share.via = Via::message;
    share.tag = new_tag();
    late_tags_.push_back(
        letter_to(leader, LateTag{faults_.status(), pair.link->region, placement.part, share.tag}));
  }
  share.count = stream.count;
  share.runs = stream.pack();
  routes_.contributions.push_back(std::move(share));
}

void Negotiator::read(int leader, Layout layout) {
  in_pair(layout.region).arriving.push_back({leader, std::move(layout)});
}

void Negotiator::read(PairVerdict verdict) {
  InPair& pair = in_pair(verdict.region);
  pair.verdict = verdict.verdict;
  pair.far_leaders = std::move(verdict.leaders);
}

}  // namespace vicinal
