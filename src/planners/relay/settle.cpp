// Superstep 5 of a negotiation: receiving leaders tell consumers where their items lie, and the ends
// of straight edges compare their counts.
#include <algorithm>

#include "planners/relay/negotiator.hpp"

namespace vicinal {

namespace {

/// One run of a contributed stream, as words: count, occurrences, then (rank, offset) of each.
template <class Visit>
void for_each_run(const ContributedStream& stream, Visit visit) {
  for (std::size_t at = 0; at < stream.runs.size();) {
    const Index count = stream.runs[at];
    const auto occurrences = static_cast<std::size_t>(stream.runs[at + 1]);
    visit(count, std::span(stream.runs).subspan(at + 2, 2 * occurrences));
    at += 2 + 2 * occurrences;
  }
}

/// Adds (origin, offset, position, count), joined to the last entry where it continues it.
void append_entry(Words& entries, int origin, Index offset, Index position, Index count) {
  if (entries.size() >= 4) {
    std::int64_t* last = entries.data() + entries.size() - 4;
    if (last[0] == origin && last[1] + last[3] == offset && last[2] + last[3] == position) {
      last[3] += count;
      return;
    }
  }
  entries.insert(entries.end(), {origin, offset, position, count});
}

}  // namespace

void Negotiator::add_partners(std::vector<Partner>& partners, const SlotPair& slot,
                              const Entries& entries, Index extent, int own_index,
                              const Words& heading, Letters& outbox) {
  int next_index = 0;
  Index reverse_offset = 0;
  for (const auto& [consumer, words] : entries) {
    Partner partner;
    partner.rank = consumer;
    partner.via = via(consumer);
    if (partner.via == Via::shared && slot.forward < 0) partner.via = Via::message;
    for (std::size_t at = 0; at < words.size(); at += 4) {
      append_run(partner.picks, {words[at + 2], partner.count, words[at + 3]});
      partner.count += words[at + 3];
    }
    if (partner.count > 0 && partner.via == Via::message) partner.tag = new_tag();
    if (partner.count > 0 && partner.via == Via::shared) {
      partner.peer_index = next_index++;
      partner.offset = reverse_offset;
      reverse_offset += partner.count;
    }
    Words letter = heading;
    const int index = partner.via == Via::self ? own_index : partner.peer_index;
    letter.insert(letter.end(), {slot.forward, slot.reverse, index, partner.tag, extent,
                                 partner.offset, static_cast<std::int64_t>(words.size())});
    letter.insert(letter.end(), words.begin(), words.end());
    outbox.push_back({consumer, std::move(letter)});
    if (partner.count > 0) partners.push_back(std::move(partner));
  }
}

void Negotiator::deliver(InPair& pair, InPair::Arriving& arriving, Letters& outbox) {
  Entries entries;
  if (policy_.division != RelayPolicy::Division::contributor) {
    for (const int member : pair.link->members) entries[member];
  }
  Index position = 0;
  for (const ContributedStream& stream : arriving.streams) {
    if (policy_.division == RelayPolicy::Division::contributor) {
      for (const int destination : stream.destinations) entries[destination];
    }
    for_each_run(stream, [&](Index count, std::span<const std::int64_t> occurrences) {
      for (std::size_t i = 0; i < occurrences.size(); i += 2) {
        append_entry(entries[static_cast<int>(occurrences[i])], stream.rank, occurrences[i + 1],
                     position, count);
      }
      position += count;
    });
  }
  Relay relay;
  relay.peer = arriving.peer;
  relay.tag = arriving.tag;
  relay.count = arriving.count;
  int shared = 0;
  for (const auto& [consumer, words] : entries) {
    if (via(consumer) == Via::shared && !words.empty()) ++shared;
  }
  if (shared > 0) relay.slot = new_slots(shared).value_or(SlotPair{});
  const Words heading = begin_letter(LetterKind::delivery, faults_.status());
  add_partners(relay.partners, relay.slot, entries, relay.count,
               static_cast<int>(routes_.inbound.size()), heading, outbox);
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
  outbox.push_back({link.peer, begin_letter(LetterKind::offer, faults_.status(),
                                            {link.count, straight.tag, 0})});
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
      append_entry(entries[place.peer], rank_, place.offset, position, run.count);
    }
    position += run.count;
  }
  publication.extent = stream.count;
  publication.pack = stream.pack();
  Letters letters;
  add_partners(publication.readers, publication.slot, entries, stream.count, -1, {}, letters);
  for (Letter& letter : letters) {
    Words words = begin_letter(LetterKind::offer, faults_.status(),
                               {out_links_.at(letter.peer).count, -1, 1});
    words.insert(words.end(), letter.words.begin(), letter.words.end());
    outbox.push_back({letter.peer, std::move(words)});
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
    outbox.push_back({peer, begin_letter(LetterKind::expectation, faults_.status(), {link.count})});
  }
  return outbox;
}

std::size_t Negotiator::expected_deliveries_and_offers() const {
  std::size_t count = untagged_.size();
  for (const auto& [peer, link] : in_links_) {
    count += peer != rank_ && goes_straight(peer, false) ? 1 : 0;
  }
  for (const auto& [peer, link] : out_links_) {
    count += peer != rank_ && goes_straight(peer, true) ? 1 : 0;
  }
  for (const InPair& pair : in_) {
    if (!pair.consumes || pair.verdict != Verdict::relayed) continue;
    if (policy_.division != RelayPolicy::Division::contributor) {
      count += pair.far_leaders.size();
      continue;
    }
    for (const int leader : pair.far_leaders) count += in_links_.contains(leader) ? 1 : 0;
  }
  return count;
}

std::optional<Share> Negotiator::read_share(Reader& reader) {
  Share share;
  share.owner = reader.peer();
  share.via = via(share.owner);
  share.slot.forward = reader.word();
  share.slot.reverse = reader.word();
  share.peer_index = reader.rank();
  share.tag = reader.word();
  share.extent = reader.word();
  share.offset = reader.word();
  if (share.via == Via::shared && share.slot.forward < 0) share.via = Via::message;
  for (std::size_t words = reader.size(); words > 0; words -= 4) {
    const int origin = reader.rank();
    const Index offset = reader.word(), position = reader.word(), count = reader.word();
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

void Negotiator::read_offer(Reader& reader) {
  const int peer = reader.peer();
  const InLink& link = in_links_.at(peer);
  const Index count = reader.word();
  const std::int64_t tag = reader.word();
  const bool shared = reader.word() != 0;
  if (!reader.good()) return;
  faults_.compare(peer, rank_, count, link.count);
  if (count != link.count || count == 0) return;
  if (shared) {
    if (auto share = read_share(reader)) routes_.readings.push_back(std::move(*share));
    return;
  }
  covered_[peer] += count;
  routes_.receives.push_back({peer, machine_.same_region(peer, rank_), tag, count, link.slots});
}

void Negotiator::read_tag(Reader& reader) {
  const int region = reader.rank();
  Relay& relay = routes_.outbound[relay_of_.at({region, reader.size()})];
  for (Partner& partner : relay.partners) {
    if (partner.rank == reader.peer()) partner.tag = reader.word();
  }
}

void Negotiator::read_expectation(Reader& reader) {
  const Index expected = reader.word();
  if (reader.good())
    faults_.compare(rank_, reader.peer(), out_links_.at(reader.peer()).count, expected);
}

void Negotiator::read_deliveries_and_offers(const Letters& inbox) {
  for (const Letter& letter : inbox) {
    Reader reader(letter);
    reader.copy_status(faults_.status());
    if (reader.kind() == LetterKind::expectation) read_expectation(reader);
    if (reader.kind() == LetterKind::offer) read_offer(reader);
    if (reader.kind() == LetterKind::tag) read_tag(reader);
    if (reader.kind() == LetterKind::delivery) {
      if (auto share = read_share(reader)) routes_.deliveries.push_back(std::move(*share));
    }
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
