// Superstep 5 of a negotiation: receiving leaders tell consumers where their items lie, and the ends
// of straight edges compare their counts.
#include <algorithm>

#include "planners/relay/negotiator.hpp"

namespace vicinal {

namespace {

/// Adds an entry, joined to the last one where it continues it.
void append(std::vector<Portion::Entry>& entries, const Portion::Entry& entry) {
  if (!entries.empty()) {
    Portion::Entry& last = entries.back();
    if (last.origin == entry.origin && last.offset + last.count == entry.offset &&
        last.position + last.count == entry.position) {
      last.count += entry.count;
      return;
    }
  }
  entries.push_back(entry);
}

}  // namespace

/// Those who take something from a buffer of this rank, and what each of them has to know.
std::map<int, Portion> Negotiator::add_partners(std::vector<Partner>& partners,
                                                const SlotPair& slot, Entries entries, Index extent,
                                                int own_index) {
  std::map<int, Portion> portions;
  int next_index = 0;
  Index reverse_offset = 0;
  for (auto& [consumer, its] : entries) {
    Partner partner;
    partner.rank = consumer;
    partner.via = via(consumer);
    if (partner.via == Via::shared && slot.forward < 0) partner.via = Via::message;
    for (const Portion::Entry& entry : its) {
      append_run(partner.picks, {entry.position, partner.count, entry.count});
      partner.count += entry.count;
    }
    if (partner.count > 0 && partner.via == Via::message) partner.tag = new_tag();
    if (partner.count > 0 && partner.via == Via::shared) {
      partner.peer_index = next_index++;
      partner.offset = reverse_offset;
      reverse_offset += partner.count;
    }
    const int index = partner.via == Via::self ? own_index : partner.peer_index;
    portions[consumer] = {slot, index, partner.tag, extent, partner.offset, std::move(its)};
    if (partner.count > 0) partners.push_back(std::move(partner));
  }
  return portions;
}

void Negotiator::deliver(InPair& pair, InPair::Arriving& arriving, Letters& outbox) {
  const Layout& layout = arriving.layout;
  Entries entries;
  if (policy_.division != RelayPolicy::Division::contributor) {
    for (const int member : pair.link->members) entries[member];
  }
  Index position = 0;
  for (const ContributedStream& stream : layout.streams) {
    if (policy_.division == RelayPolicy::Division::contributor) {
      for (const int destination : stream.destinations) entries[destination];
    }
    auto occurrence = stream.occurrences.begin();
    for (const ContributedStream::Run& run : stream.runs) {
      for (std::size_t i = 0; i < run.occurrences; ++i, ++occurrence) {
        append(entries[occurrence->peer], {stream.rank, occurrence->offset, position, run.count});
      }
      position += run.count;
    }
  }
  Relay relay;
  relay.peer = arriving.leader;
  relay.tag = layout.tag;
  relay.count = layout.count;
  int shared = 0;
  for (const auto& [consumer, its] : entries) {
    if (via(consumer) == Via::shared && !its.empty()) ++shared;
  }
  if (shared > 0) relay.slot = new_slots(shared).value_or(SlotPair{});
  const auto portions = add_partners(relay.partners, relay.slot, std::move(entries), relay.count,
                                     static_cast<int>(routes_.inbound.size()));
  for (const auto& [consumer, portion] : portions) {
    outbox.push_back(letter_to(consumer, Delivery{faults_.status(), portion}));
  }
  if (relay.count > 0) routes_.inbound.push_back(std::move(relay));
}

bool Negotiator::goes_straight(int peer, bool outgoing) const {
  if (policy_.decision == RelayPolicy::Decision::never || machine_.same_region(peer, rank_)) {
    return true;
  }
  const int region = machine_.region_of(peer);
  const auto straight = [&](const auto& pair) {
    return pair.link->region == region && pair.verdict == Verdict::straight;
  };
  return outgoing ? std::any_of(out_.begin(), out_.end(), straight)
                  : std::any_of(in_.begin(), in_.end(), straight);
}

void Negotiator::offer_straight(const OutLink& link, bool local, Letters& outbox) {
  Straight straight{link.peer, local, -1, link.count, link.pack()};
  if (link.count > 0) straight.tag = new_tag();
  outbox.push_back(
      letter_to(link.peer, Offer{faults_.status(), link.count, straight.tag, std::nullopt}));
  if (link.count > 0) routes_.sends.push_back(std::move(straight));
}

void Negotiator::offer_links(Letters& outbox) {
  std::vector<const OutLink*> published;
  for (auto& [peer, link] : out_links_) {
    if (peer == rank_ || !goes_straight(peer, true)) continue;
    const bool local = machine_.same_region(peer, rank_);
    if (local && policy_.share_local && via(peer) == Via::shared && link.count > 0) {
      published.push_back(&link);
      continue;
    }
    offer_straight(link, local, outbox);
  }
  if (published.empty()) return;
  Publication publication;
  if (const auto slot = new_slots(static_cast<int>(published.size()))) {
    publication.slot = *slot;
  } else {
    for (const OutLink* link : published) offer_straight(*link, true, outbox);
    return;
  }

  const Stream stream = merge(published);
  Entries entries;
  Index position = 0;
  for (const StreamRun& run : stream.runs) {
    for (const Occurrence& place : run.occurrences) {
      append(entries[place.peer], {rank_, place.offset, position, run.count});
    }
    position += run.count;
  }
  publication.extent = stream.count;
  publication.pack = stream.pack();
  for (const auto& [reader, portion] :
       add_partners(publication.readers, publication.slot, std::move(entries), stream.count, -1)) {
    outbox.push_back(
        letter_to(reader, Offer{faults_.status(), out_links_.at(reader).count, -1, portion}));
  }
  routes_.publication = std::move(publication);
}

Letters Negotiator::write_deliveries_and_offers() {
  Letters outbox = std::move(late_tags_);
  for (InPair& pair : in_) {
    for (InPair::Arriving& arriving : pair.arriving) deliver(pair, arriving, outbox);
    pair.arriving.clear();
  }
  offer_links(outbox);
  for (const auto& [peer, link] : in_links_) {
    if (peer == rank_ || !goes_straight(peer, false)) continue;
    outbox.push_back(letter_to(peer, Expectation{faults_.status(), link.count}));
  }
  return outbox;
}

Expected Negotiator::expected_deliveries_and_offers() const {
  std::vector<int> offering, expecting, delivering;
  for (const auto& [peer, link] : in_links_) {
    if (peer != rank_ && goes_straight(peer, false)) offering.push_back(peer);
  }
  for (const auto& [peer, link] : out_links_) {
    if (peer != rank_ && goes_straight(peer, true)) expecting.push_back(peer);
  }
  const bool own_only = policy_.division == RelayPolicy::Division::contributor;
  for (const InPair& pair : in_) {
    if (!pair.consumes || pair.verdict != Verdict::relayed) continue;
    for (std::size_t part = 0; part < pair.far_leaders.size(); ++part) {
      if (own_only && !in_links_.contains(pair.far_leaders[part])) continue;
      delivering.push_back(pair.leaders[part % pair.leaders.size()]);
    }
  }
  Expected expected;
  expected.add(kind_of(Delivery::name), std::move(delivering), "deliveries");
  expected.add(kind_of(Offer::name), std::move(offering), "offers");
  expected.add(kind_of(Expectation::name), std::move(expecting), "expectations");
  expected.add(kind_of(LateTag::name), untagged_, "tags");
  return expected;
}

/// This rank's part in a buffer of another one; nothing where it takes nothing from there.
std::optional<Share> Negotiator::take(int owner, const Portion& portion) {
  Share share;
  share.owner = owner;
  share.via = via(owner);
  share.slot = portion.slot;
  share.peer_index = portion.peer_index;
  share.tag = portion.tag;
  share.extent = portion.extent;
  share.offset = portion.offset;
  if (share.via == Via::shared && share.slot.forward < 0) share.via = Via::message;
  for (const auto& [origin, offset, position, count] : portion.entries) {
    const auto link = in_links_.find(origin);
    if (link == in_links_.end() || offset + count > link->second.count) continue;
    append_slots(share.runs, link->second, offset, count, position);
    append_slots(share.order, link->second, offset, count, share.count);
    share.count += count;
    covered_[origin] += count;
  }
  if (share.count == 0) return std::nullopt;
  return share;
}

void Negotiator::read(int sender, const Offer& offer) {
  const InLink& link = in_links_.at(sender);
  if (!offer.status.good()) return;
  faults_.compare(sender, rank_, offer.count, link.count);
  if (offer.count != link.count || offer.count == 0) return;
  if (offer.published) {
    if (auto share = take(sender, *offer.published)) routes_.readings.push_back(std::move(*share));
    return;
  }
  covered_[sender] += offer.count;
  routes_.receives.push_back(
      {sender, machine_.same_region(sender, rank_), offer.tag, offer.count, link.slots});
}

void Negotiator::read(int contributor, const LateTag& late) {
  Relay& relay = routes_.outbound[relay_of_.at({late.region, late.part})];
  for (Partner& partner : relay.partners) {
    if (partner.rank == contributor) partner.tag = late.tag;
  }
}

void Negotiator::read_deliveries_and_offers(const Letters& inbox) {
  const auto hear = [&](const auto& it) { it.status.pass_on(faults_.status()); };
  for (const Letter& letter : inbox) {
    const int peer = letter.peer;
    open<Delivery, Offer, Expectation, LateTag>(
        letter, Either{[&](const Delivery& it) {
                         hear(it);
                         auto share = take(peer, it.portion);
                         if (share) routes_.deliveries.push_back(std::move(*share));
                       },
                       [&](const Offer& it) {
                         hear(it);
                         read(peer, it);
                       },
                       [&](const Expectation& it) {
                         hear(it);
                         if (!it.status.good()) return;
                         faults_.compare(rank_, peer, out_links_.at(peer).count, it.count);
                       },
                       [&](const LateTag& it) {
                         hear(it);
                         read(peer, it);
                       }});
  }
}

void Negotiator::check_covered() const {
  for (const auto& [peer, link] : in_links_) {
    if (peer == rank_) continue;
    const Index covered = covered_.contains(peer) ? covered_.at(peer) : 0;
    require(covered == link.count, Fault::internal, "of the ", link.count, " ",
            request_.options.unit, " that rank ", rank_, " expects from rank ", peer, ", ", covered,
            " have a route");
  }
}

Routes Negotiator::finish() {
  routes_.self = join_self(rank_, out_links_, in_links_, faults_);
  for (const OutPair& pair : out_) {
    routes_.regions += pair.contributes ? 1 : 0;
    routes_.relayed_regions += pair.contributes && pair.verdict == Verdict::relayed ? 1 : 0;
  }
  faults_.settle();
  check_covered();
  if (policy_.order == RelayPolicy::Order::nearest_first) {
    std::vector<int> peers;
    for (const Straight& send : routes_.sends) peers.push_back(send.peer);
    peers = nearest_first(rank_, std::move(peers));
    std::sort(routes_.sends.begin(), routes_.sends.end(),
              [&](const Straight& a, const Straight& b) {
                return std::find(peers.begin(), peers.end(), a.peer) <
                       std::find(peers.begin(), peers.end(), b.peer);
              });
  }
  return std::move(routes_);
}

}  // namespace vicinal
