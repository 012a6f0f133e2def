// Superstep 5 of a negotiation: receiving leaders tell consumers where their items lie, and the
// ends of edges that are sent directly compare their counts.
#include <algorithm>
#include <utility>

#include "planners/relay/negotiation.hpp"

namespace vicinal {

namespace {

/// Adds an entry, or joins it to the last one if it continues that.
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

/// Returns the first item and the number of items of one of the equal parts into which `count`
/// items are divided.
std::pair<Index, Index> part_of(Index count, std::size_t part, std::size_t parts) {
  const auto begin_of = [&](std::size_t number) {
    return count * static_cast<Index>(number) / static_cast<Index>(parts);
  };
  return {begin_of(part), begin_of(part + 1) - begin_of(part)};
}

/// Returns the runs that pack `count` items, from packed position `first` on.
std::vector<CopyRun> part_of(const std::vector<CopyRun>& pack, Index first, Index count) {
  std::vector<CopyRun> result;
  for (const CopyRun& run : pack) {
    const Index begin = std::max(run.target, first);
    const Index end = std::min(run.target + run.count, first + count);
    if (begin < end)
      result.push_back({run.source + (begin - run.target), begin - first, end - begin});
  }
  return result;
}

std::vector<CopyRun> picks_of(const std::vector<Portion::Entry>& entries) {
  std::vector<CopyRun> runs;
  for (const Portion::Entry& entry : entries) runs.push_back({entry.position, 0, entry.count});
  return picks_of(std::move(runs));
}

}  // namespace

Task<Done> RelayNegotiation::deliver() {
  ControlMessages outbox = std::move(late_tags_);
  for (InPair& pair : in_) {
    for (InPair::Arriving& arriving : pair.arriving) hand_on(pair, arriving, outbox);
    pair.arriving.clear();
  }
  offer_links(outbox);
  for (const auto& [peer, link] : in_links_) {
    if (peer == rank_ || !goes_straight(peer, false)) continue;
    outbox.push_back(message_to(peer, Expectation{faults_.status(), link.count}));
  }
  Expected expected = expected_deliveries();
  ControlMessages inbox = co_await exchange(std::move(outbox), std::move(expected));
  if (policy_.order == RelayPolicy::Order::rotated) put_in_order_of_arrival(inbox);
  read<Delivery, Offer, Expectation, LateTag>(
      inbox,
      Either{[&](int leader, const Delivery& it) { take(leader, it.portion, Phase::scatter); },
             [&](int sender, const Offer& it) { accept(sender, it); },
             [&](int receiver, const Expectation& it) { compare(receiver, it); },
             [&](int contributor, const LateTag& it) {
               const auto place = untagged_.at({contributor, it.region, it.part});
               transfers_.list[place].tag = it.tag;
             }});
  co_return Done{};
}

/// Orders control messages by expected arrival of data. If each rank begins with the next higher
/// rank, the first data comes from the rank below. A receive posted in this order is found at once.
void RelayNegotiation::put_in_order_of_arrival(ControlMessages& inbox) const {
  const auto distance = [&](const ControlMessage& it) {
    return (rank_ - it.peer + machine_.size()) % machine_.size();
  };
  std::stable_sort(
      inbox.begin(), inbox.end(),
      [&](const ControlMessage& a, const ControlMessage& b) { return distance(a) < distance(b); });
}

bool RelayNegotiation::goes_straight(int peer, bool outgoing) const {
  if (policy_.decision == RelayPolicy::Decision::never || same_region(peer)) return true;
  const int region = machine_.region_of(peer);
  const auto straight = [&](const auto& pair) {
    return pair.link->region == region && pair.verdict == Verdict::straight;
  };
  return outgoing ? std::any_of(out_.begin(), out_.end(), straight)
                  : std::any_of(in_.begin(), in_.end(), straight);
}

Expected RelayNegotiation::expected_deliveries() const {
  std::vector<int> offering, expecting, delivering, untagged;
  for (const auto& [peer, link] : in_links_) {
    if (peer != rank_ && goes_straight(peer, false)) offering.push_back(peer);
  }
  for (const auto& [peer, link] : out_links_) {
    if (peer != rank_ && goes_straight(peer, true)) expecting.push_back(peer);
  }
  for (const InPair& pair : in_) {
    if (!pair.consumes || pair.verdict != Verdict::relayed) continue;
    for (std::size_t part = 0; part < pair.far_leaders.size(); ++part) {
      if (pair.far_by_contributor && !in_links_.contains(pair.far_leaders[part])) continue;
      delivering.push_back(pair.view->leaders[part % pair.view->leaders.size()]);
    }
  }
  for (const auto& [contribution, place] : untagged_) untagged.push_back(std::get<0>(contribution));
  Expected expected;
  expected.add(kind_of(Delivery::name), std::move(delivering), "deliveries");
  expected.add(kind_of(Offer::name), std::move(offering), "offers");
  expected.add(kind_of(Expectation::name), std::move(expecting), "expectations");
  expected.add(kind_of(LateTag::name), std::move(untagged), "tags");
  return expected;
}

/// Receives a message of another leader, and tells each consumer where its part lies.
void RelayNegotiation::hand_on(InPair& pair, InPair::Arriving& arriving, ControlMessages& outbox) {
  const Layout& layout = arriving.layout;
  const bool own_only = pair.far.by_contributor;
  Entries entries;
  if (!own_only) {
    for (const int member : pair.link->members) entries[member];
  }
  Index position = 0;
  for (const ContributedStream& stream : layout.streams) {
    if (own_only) {
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
  Led message{arriving.leader, layout.tag, layout.count, -1};
  const auto portions = portions_of(message, std::move(entries));
  for (const auto& [consumer, portion] : portions) {
    outbox.push_back(message_to(consumer, Delivery{faults_.status(), portion}));
  }
  if (message.count > 0) inbound_.push_back(message);
}

std::map<int, Portion> RelayNegotiation::portions_of(Led& message, Entries entries) {
  std::map<int, Portion> portions;
  std::map<int, std::vector<CopyRun>> picks;  // of consumers that take something
  std::vector<Window> windows;
  for (auto& [consumer, its] : entries) {
    Portion& portion = portions[consumer];
    if (consumer == rank_) portion.passage.peer_index = static_cast<int>(inbound_.size());
    if (!its.empty() && consumer != rank_) picks[consumer] = picks_of(its);
    if (picks.contains(consumer) && shares_memory_with(consumer)) {
      portion.passage.peer_index = static_cast<int>(windows.size());
      windows.push_back({picks[consumer], 0, consumer});
    }
    portion.entries = std::move(its);
  }
  if (picks.empty()) return portions;

  std::optional<SlotPair> slots;
  if (!windows.empty()) slots = new_slots(static_cast<int>(windows.size()));
  lay_end_to_end(windows);
  message.store = slots ? transfers_.add(Store::own_slot(Store::Kind::handing_out, Phase::scatter,
                                                         *slots, message.count, windows))
                        : transfers_.hold(message.count);
  transfers_.take(Phase::non_local, false, message.peer, message.tag, message.count,
                  Part{message.store, {{0, 0, message.count}}});
  for (auto& [consumer, its] : picks) {
    Portion& portion = portions[consumer];
    if (slots && shares_memory_with(consumer)) {
      portion.passage.slot = *slots;
      portion.passage.extent = message.count;
      portion.passage.offset = windows[static_cast<std::size_t>(portion.passage.peer_index)].offset;
      continue;
    }
    for (Portion::Entry& entry : portion.entries) entry.position = place_in(its, entry.position);
    portion.passage = Passage::message(new_tag(), total(its));
    transfers_.give(Phase::scatter, true, consumer, portion.passage.tag, portion.passage.extent,
                    Part{message.store, std::move(its)});
  }
  return portions;
}

std::vector<int> RelayNegotiation::in_order(std::vector<int> peers) const {
  switch (policy_.order) {
    case RelayPolicy::Order::ascending: break;
    case RelayPolicy::Order::nearest_first: return nearest_first(rank_, std::move(peers));
    case RelayPolicy::Order::rotated:
      std::rotate(peers.begin(), std::upper_bound(peers.begin(), peers.end(), rank_), peers.end());
      break;
  }
  return peers;
}

void RelayNegotiation::offer_links(ControlMessages& outbox) {
  std::vector<int> straight;
  std::vector<const OutLink*> published;
  for (const auto& [peer, link] : out_links_) {
    if (peer == rank_ || !goes_straight(peer, true)) continue;
    if (policy_.share_local && same_region(peer) && shares_memory_with(peer) && link.count > 0 &&
        sharing_pays(link)) {
      published.push_back(&link);
    } else {
      straight.push_back(peer);
    }
  }
  for (const int peer : in_order(std::move(straight))) offer_straight(out_links_.at(peer), outbox);
  if (published.empty() || publish(published, outbox)) return;
  for (const OutLink* link : published) offer_straight(*link, outbox);
}

StraightData RelayNegotiation::straight_data(const OutLink& link) const {
  return {link.count * options_.element_bytes, link.pack().size() > 1,
          machine_.level(rank_, link.peer), options_.on_device, options_.device_transport};
}

bool RelayNegotiation::sharing_pays(const OutLink& link) const {
  return policy_.decision != RelayPolicy::Decision::cheaper ||
         slot_pays(options_.profile, straight_data(link));
}

/// Returns a new tag for each message into which the link is divided.
std::vector<std::int64_t> RelayNegotiation::tags_for(const OutLink& link) {
  if (link.count == 0) return {};
  Index parts = 1;
  if (policy_.decision == RelayPolicy::Decision::cheaper) {
    parts = std::min<Index>(message_parts(options_.profile, straight_data(link)), link.count);
  }
  std::vector<std::int64_t> tags;
  for (Index part = 0; part < parts; ++part) tags.push_back(new_tag());
  return tags;
}

void RelayNegotiation::offer_straight(const OutLink& link, ControlMessages& outbox) {
  const bool local = same_region(link.peer);
  const std::vector<std::int64_t> tags = tags_for(link);
  outbox.push_back(message_to(link.peer, Offer{faults_.status(), link.count, tags, std::nullopt}));
  if (link.count == 0) return;
  const std::vector<CopyRun> pack = link.pack();
  for (std::size_t part = 0; part < tags.size(); ++part) {
    const auto [first, count] = part_of(link.count, part, tags.size());
    transfers_.give(local ? Phase::local : Phase::direct, local, link.peer, tags[part], count,
                    Part{Plan::source, part_of(pack, first, count)});
  }
}

/// Publishes links of the own region in a slot, without messages. Returns false if there is no room
/// for the slot.
bool RelayNegotiation::publish(const std::vector<const OutLink*>& links, ControlMessages& outbox) {
  const auto slots = new_slots(static_cast<int>(links.size()));
  if (!slots) return false;
  const Stream stream = merge(links);
  Entries entries;
  Index position = 0;
  for (const StreamRun& run : stream.runs) {
    for (const Occurrence& place : run.occurrences) {
      append(entries[place.peer], {rank_, place.offset, position, run.count});
    }
    position += run.count;
  }
  std::vector<Window> windows;
  for (const auto& [reader, its] : entries) windows.push_back({picks_of(its), 0, reader});
  lay_end_to_end(windows);
  int index = 0;
  for (auto& [reader, its] : entries) {
    const Passage passage{-1, *slots, index, stream.count,
                          windows[static_cast<std::size_t>(index)].offset};
    ++index;
    outbox.push_back(message_to(
        reader,
        Offer{
            faults_.status(), out_links_.at(reader).count, {}, Portion{passage, std::move(its)}}));
  }
  const int slot = transfers_.add(Store::own_slot(Store::Kind::handing_out, Phase::local, *slots,
                                                  stream.count, std::move(windows)));
  transfers_.move(Phase::local, Plan::source, slot, stream.pack());
  return true;
}

/// Takes this rank's portion of another rank's data, or of a message that it leads itself.
void RelayNegotiation::take(int carrier, const Portion& portion, Phase phase) {
  std::vector<CopyRun> runs;
  for (const auto& [origin, offset, position, count] : portion.entries) {
    const auto link = in_links_.find(origin);
    if (link == in_links_.end() || offset + count > link->second.count) continue;
    append_slots(runs, link->second, offset, count, position);
    covered_[origin] += count;
  }
  if (runs.empty()) return;
  const Passage& passage = portion.passage;
  if (carrier == rank_) {
    const Led& message = inbound_[static_cast<std::size_t>(passage.peer_index)];
    if (message.store >= 0) {
      transfers_.move(phase, message.store, Plan::target, std::move(runs));
    } else {
      transfers_.take(Phase::non_local, false, message.peer, message.tag, message.count,
                      Part{Plan::target, std::move(runs)});
    }
  } else if (passage.shared()) {
    const int slot = transfers_.add(Store::far_slot(Store::Kind::handing_out, phase, carrier,
                                                    passage, picks_of(portion.entries)));
    transfers_.move(phase, slot, Plan::target, std::move(runs));
  } else {
    transfers_.take(phase, true, carrier, passage.tag, passage.extent,
                    Part{Plan::target, std::move(runs)});
  }
}

void RelayNegotiation::accept(int sender, const Offer& offer) {
  InLink& link = in_links_.at(sender);
  if (!offer.status.good()) return;
  faults_.compare(sender, rank_, offer.count, link.count);
  if (offer.count != link.count || offer.count == 0) return;
  if (offer.published) {
    take(sender, *offer.published, Phase::local);
    return;
  }
  covered_[sender] += offer.count;
  const bool local = same_region(sender);
  for (std::size_t part = 0; part < offer.tags.size(); ++part) {
    const auto [first, count] = part_of(offer.count, part, offer.tags.size());
    std::vector<CopyRun> slots;
    append_slots(slots, link, first, count, 0);
    transfers_.take(local ? Phase::local : Phase::direct, local, sender, offer.tags[part], count,
                    Part{Plan::target, std::move(slots)});
  }
  link.slots = {};
}

void RelayNegotiation::check_covered() const {
  for (const auto& [peer, link] : in_links_) {
    if (peer == rank_) continue;
    const Index covered = covered_.contains(peer) ? covered_.at(peer) : 0;
    require(covered == link.count, Fault::internal, "of the ", link.count, " ", options_.unit,
            " that rank ", rank_, " expects from rank ", peer, ", ", covered, " have a route");
  }
}

}  // namespace vicinal
