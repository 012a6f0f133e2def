// Supersteps 4 and 5 of a negotiation: leaders tell contributors and consumers where items lie, and
// the ends of straight edges compare their counts.
#include <algorithm>

#include "planners/faults.hpp"
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

Via Negotiator::via(int other) const {
  if (other == rank_) return Via::self;
  const bool shared = request_.options.shared_memory && machine_.same_host(rank_, other);
  return shared ? Via::shared : Via::message;
}

std::int64_t Negotiator::new_tag() {
  try {
    return request_.site.new_tag();
  } catch (const Error& error) {
    blame(error);
    return -1;
  }
}

SlotPair Negotiator::new_slots(int peers) {
  try {
    SlotPair slots{request_.site.new_slot(peers), -1};
    if (request_.options.with_reverse) slots.reverse = request_.site.new_slot(peers);
    return slots;
  } catch (const Error& error) {
    blame(error);
    return {};
  }
}

// --- superstep 4 ---------------------------------------------------------------------------------

void Negotiator::place(OutPair& pair, std::size_t part, Letters& outbox) {
  const std::vector<ContributedStream>& streams = pair.contributed[part];
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
    if (shared > 0) relay.slot = new_slots(shared);
  }

  auto partner = relay.partners.begin();
  for (const ContributedStream& stream : streams) {
    Words words = begin_letter(LetterKind::placement, status_,
                               {pair.link->region, static_cast<std::int64_t>(part),
                                static_cast<std::int64_t>(pair.verdict)});
    if (relayed && stream.count > 0) {
      const int index = partner->via == Via::self ? static_cast<int>(routes_.outbound.size())
                                                  : partner->peer_index;
      words.insert(words.end(),
                   {relay.slot.forward, relay.slot.reverse, index, relay.count, partner->offset});
      ++partner;
    }
    outbox.push_back({stream.rank, std::move(words)});
  }
  if (!relayed) return;

  Words words = begin_letter(
      LetterKind::layout, status_,
      {neighborhood_.region(), static_cast<std::int64_t>(part), relay.tag, relay.count});
  for (const ContributedStream& stream : streams) {
    words.insert(words.end(), {stream.rank, stream.count,
                               static_cast<std::int64_t>(stream.destinations.size())});
    words.insert(words.end(), stream.destinations.begin(), stream.destinations.end());
    words.push_back(static_cast<std::int64_t>(stream.runs.size()));
    words.insert(words.end(), stream.runs.begin(), stream.runs.end());
  }
  outbox.push_back({relay.peer, std::move(words)});
  if (relay.count > 0) routes_.outbound.push_back(std::move(relay));
}

Letters Negotiator::write_placements_layouts_verdicts() {
  Letters outbox;
  for (OutPair& pair : out_) {
    for (const std::size_t part : pair.led) place(pair, part, outbox);
    pair.contributed.clear();
  }
  for (const InPair& pair : in_) {
    if (pair.leaders.front() != rank_) continue;
    Words words = begin_letter(LetterKind::verdict, status_,
                               {pair.link->region, static_cast<std::int64_t>(pair.verdict)});
    words.insert(words.end(), pair.far.leaders.begin(), pair.far.leaders.end());
    for (const int member : pair.link->members) outbox.push_back({member, words});
  }
  return outbox;
}

std::size_t Negotiator::expected_placements_layouts_verdicts() const {
  std::size_t count = 0;
  for (const OutPair& pair : out_) count += pair.sent_part.size();
  for (const InPair& pair : in_) {
    count += pair.consumes ? 1 : 0;
    if (pair.verdict != Verdict::relayed) continue;
    for (std::size_t part = 0; part < pair.far.leaders.size(); ++part) {
      count += pair.leaders[part % pair.leaders.size()] == rank_ ? 1 : 0;
    }
  }
  return count;
}

void Negotiator::read_placements_layouts_verdicts(const Letters& inbox) {
  for (const Letter& letter : inbox) {
    Reader reader(letter);
    reader.copy_status(status_);
    if (reader.kind() == LetterKind::placement) read_placement(reader);
    if (reader.kind() == LetterKind::layout) read_layout(reader);
    if (reader.kind() == LetterKind::verdict) read_verdict(reader);
  }
}

void Negotiator::read_placement(Reader& reader) {
  OutPair& pair = out_pair(reader.rank());
  const std::size_t part = reader.size();
  pair.verdict = static_cast<Verdict>(reader.word());
  if (!reader.more()) return;
  const Stream& stream = pair.sent_part.at(part);
  Share share;
  share.owner = reader.peer();
  share.via = via(share.owner);
  share.slot.forward = reader.word();
  share.slot.reverse = reader.word();
  share.peer_index = reader.rank();
  share.extent = reader.word();
  share.offset = reader.word();
  share.tag = pair.sent_tag.at(part);
  share.count = stream.count;
  share.runs = stream.pack();
  routes_.contributions.push_back(std::move(share));
}

void Negotiator::read_layout(Reader& reader) {
  InPair& pair = in_pair(reader.rank());
  InPair::Arriving arriving;
  arriving.peer = reader.peer();
  arriving.part = reader.size();
  arriving.tag = reader.word();
  arriving.count = reader.word();
  while (reader.more()) {
    ContributedStream stream;
    stream.rank = reader.rank();
    stream.count = reader.word();
    for (std::size_t i = reader.size(); i > 0; --i) stream.destinations.push_back(reader.rank());
    const std::size_t words = reader.size();
    stream.runs.reserve(words);
    for (std::size_t i = 0; i < words; ++i) stream.runs.push_back(reader.word());
    arriving.streams.push_back(std::move(stream));
  }
  pair.arriving.push_back(std::move(arriving));
}

void Negotiator::read_verdict(Reader& reader) {
  InPair& pair = in_pair(reader.rank());
  pair.verdict = static_cast<Verdict>(reader.word());
  pair.far_leaders.clear();
  while (reader.more()) pair.far_leaders.push_back(reader.rank());
}

// --- superstep 5 ---------------------------------------------------------------------------------

void Negotiator::add_partners(std::vector<Partner>& partners, SlotPair& slot,
                              const Entries& entries, Index extent, int own_index,
                              const Words& heading, Letters& outbox) {
  int shared = 0;
  for (const auto& [consumer, words] : entries) {
    if (via(consumer) == Via::shared && !words.empty()) ++shared;
  }
  if (shared > 0) slot = new_slots(shared);

  int next_index = 0;
  Index reverse_offset = 0;
  for (const auto& [consumer, words] : entries) {
    Partner partner;
    partner.rank = consumer;
    partner.via = via(consumer);
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
  const Words heading = begin_letter(LetterKind::delivery, status_);
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

void Negotiator::offer_links(Letters& outbox) {
  std::vector<const OutLink*> published;
  for (auto& [peer, link] : out_links_) {
    if (peer == rank_ || !goes_straight(peer, true)) continue;
    const bool local = machine_.same_region(peer, rank_);
    if (local && policy_.share_local && via(peer) == Via::shared && link.count > 0) {
      published.push_back(&link);
      continue;
    }
    Straight straight{peer, local, -1, link.count, link.pack()};
    if (link.count > 0) straight.tag = new_tag();
    outbox.push_back(
        {peer, begin_letter(LetterKind::offer, status_, {link.count, straight.tag, 0})});
    if (link.count > 0) routes_.sends.push_back(std::move(straight));
  }
  if (published.empty()) return;

  const Stream stream = merge(published);
  Entries entries;
  Index position = 0;
  for (const StreamRun& run : stream.runs) {
    for (const Occurrence& place : run.occurrences) {
      append_entry(entries[place.peer], rank_, place.offset, position, run.count);
    }
    position += run.count;
  }
  Publication publication;
  publication.extent = stream.count;
  publication.pack = stream.pack();
  Letters letters;
  add_partners(publication.readers, publication.slot, entries, stream.count, -1, {}, letters);
  for (Letter& letter : letters) {
    Words words =
        begin_letter(LetterKind::offer, status_, {out_links_.at(letter.peer).count, -1, 1});
    words.insert(words.end(), letter.words.begin(), letter.words.end());
    outbox.push_back({letter.peer, std::move(words)});
  }
  routes_.publication = std::move(publication);
}

void Negotiator::join_self() {
  const auto out = out_links_.find(rank_);
  const auto in = in_links_.find(rank_);
  const Index sent = out == out_links_.end() ? 0 : out->second.count;
  const Index expected = in == in_links_.end() ? 0 : in->second.count;
  compare(rank_, rank_, sent, expected);
  if (sent != expected || sent == 0) return;
  for (const Segment& segment : out->second.segments) {
    append_slots(routes_.self, in->second, segment.offset, segment.count, segment.position);
  }
}

Letters Negotiator::write_deliveries_and_offers() {
  Letters outbox;
  for (InPair& pair : in_) {
    for (InPair::Arriving& arriving : pair.arriving) deliver(pair, arriving, outbox);
    pair.arriving.clear();
  }
  offer_links(outbox);
  for (const auto& [peer, link] : in_links_) {
    if (peer == rank_ || !goes_straight(peer, false)) continue;
    outbox.push_back({peer, begin_letter(LetterKind::expectation, status_, {link.count})});
  }
  return outbox;
}

std::size_t Negotiator::expected_deliveries_and_offers() const {
  std::size_t count = 0;
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
  compare(peer, rank_, count, link.count);
  if (count != link.count || count == 0) return;
  if (shared) {
    if (auto share = read_share(reader)) routes_.readings.push_back(std::move(*share));
    return;
  }
  covered_[peer] += count;
  routes_.receives.push_back({peer, machine_.same_region(peer, rank_), tag, count, link.slots});
}

void Negotiator::read_expectation(Reader& reader) {
  const Index expected = reader.word();
  if (reader.good()) compare(rank_, reader.peer(), out_links_.at(reader.peer()).count, expected);
}

void Negotiator::compare(int from, int to, Index sent, Index expected) {
  if (sent == expected || !status_.good()) return;
  blame(counts_differ(from, to, sent, expected, request_.options.unit));
}

void Negotiator::read_deliveries_and_offers(const Letters& inbox) {
  for (const Letter& letter : inbox) {
    Reader reader(letter);
    reader.copy_status(status_);
    if (reader.kind() == LetterKind::expectation) read_expectation(reader);
    if (reader.kind() == LetterKind::offer) read_offer(reader);
    if (reader.kind() == LetterKind::delivery) {
      if (auto share = read_share(reader)) routes_.deliveries.push_back(std::move(*share));
    }
  }
}

void Negotiator::check_covered() {
  for (const auto& [peer, link] : in_links_) {
    if (peer == rank_) continue;
    const Index covered = covered_.contains(peer) ? covered_.at(peer) : 0;
    require(covered == link.count, Fault::internal, "of the ", link.count, " ",
            request_.options.unit, " that rank ", rank_, " expects from rank ", peer, ", ", covered,
            " have a route");
  }
}

Routes Negotiator::finish() {
  join_self();
  if (own_fault_) throw SettledFault(*own_fault_);
  if (!status_.good()) throw fault_elsewhere(status_);
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
