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
    if (shared > 0) {
      const auto slots = new_slots(shared);
      if (slots) relay.slot = *slots;
      if (!slots) ask_for_messages(relay);
    }
  }

  auto partner = relay.partners.begin();
  for (const ContributedStream& stream : streams) {
    Words words = begin_letter(LetterKind::placement, faults_.status(),
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
      LetterKind::layout, faults_.status(),
      {neighborhood_.region(), static_cast<std::int64_t>(part), relay.tag, relay.count});
  for (const ContributedStream& stream : streams) {
    words.insert(words.end(), {stream.rank, stream.count,
                               static_cast<std::int64_t>(stream.destinations.size())});
    words.insert(words.end(), stream.destinations.begin(), stream.destinations.end());
    words.push_back(static_cast<std::int64_t>(stream.runs.size()));
    words.insert(words.end(), stream.runs.begin(), stream.runs.end());
  }
  outbox.push_back({relay.peer, std::move(words)});
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
    Words words = begin_letter(LetterKind::verdict, faults_.status(),
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
    reader.copy_status(faults_.status());
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
  if (share.via == Via::shared && share.slot.forward < 0) {
    share.via = Via::message;
    share.tag = new_tag();
    late_tags_.push_back({share.owner, begin_letter(LetterKind::tag, faults_.status(),
                                                    {pair.link->region,
                                                     static_cast<std::int64_t>(part), share.tag})});
  }
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

}  // namespace vicinal
