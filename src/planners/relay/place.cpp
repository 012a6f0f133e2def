// Superstep 4 of a negotiation. Sending leaders tell contributors where to put their items, and
// receiving leaders the contents of the message. Receiving leaders tell consumers the decision.
#include <algorithm>

#include "planners/relay/negotiation.hpp"

namespace vicinal {

Task<Done> RelayNegotiation::place_contributions() {
  Expected expected = expected_placements();
  ControlMessages outbox;
  for (OutPair& pair : out_) {
    for (const std::size_t part : pair.led) place(pair, part, outbox);
    pair.contributed.clear();
  }
  for (const InPair& pair : in_) {
    if (pair.view->leaders.front() != rank_) continue;
    const PairVerdict verdict{faults_.status(), pair.link->region, pair.verdict,
                              pair.far.by_contributor, pair.far.leaders};
    for (const int member : pair.link->members) outbox.push_back(message_to(member, verdict));
  }
  const ControlMessages inbox = co_await exchange(std::move(outbox), std::move(expected));
  read<Placement, Layout, PairVerdict>(
      inbox, Either{[&](int leader, const Placement& it) { contribute(leader, it); },
                    [&](int leader, Layout it) {
                      in_pair(it.region).arriving.push_back({leader, std::move(it)});
                    },
                    [&](int, PairVerdict it) {
                      InPair& pair = in_pair(it.region);
                      pair.verdict = it.verdict;
                      pair.far_by_contributor = it.by_contributor;
                      pair.far_leaders = std::move(it.leaders);
                    }});
  co_return Done{};
}

Expected RelayNegotiation::expected_placements() const {
  std::vector<int> placing, sending, judging;
  for (const OutPair& pair : out_) {
    for (const auto& its : pair.own) placing.push_back(pair.view->leaders[its.part]);
  }
  for (const InPair& pair : in_) {
    if (pair.consumes) judging.push_back(pair.view->leaders.front());
    if (pair.verdict != Verdict::relayed) continue;
    const auto& far = pair.far.leaders;
    for (std::size_t part = 0; part < far.size(); ++part) {
      if (pair.view->leaders[part % pair.view->leaders.size()] == rank_)
        sending.push_back(far[part]);
    }
  }
  Expected expected;
  expected.add(kind_of(Placement::name), std::move(placing), "placements");
  expected.add(kind_of(Layout::name), std::move(sending), "layouts");
  expected.add(kind_of(PairVerdict::name), std::move(judging), "verdicts");
  return expected;
}

void RelayNegotiation::place(OutPair& pair, std::size_t part, ControlMessages& outbox) {
  std::vector<ContributedStream>& streams = pair.contributed[part];
  const int region = pair.link->region;
  const bool relayed = pair.verdict == Verdict::relayed;
  Led message;
  std::vector<Passage> places(streams.size());
  if (relayed) {
    message.peer = pair.far.leaders[part % pair.far.leaders.size()];
    message.tag = new_tag();
    places = lay_out(message, streams, region, part);
  }
  for (std::size_t i = 0; i < streams.size(); ++i) {
    Placement placement{faults_.status(), region, part, pair.verdict, std::nullopt};
    if (relayed && streams[i].count > 0) placement.place = places[i];
    outbox.push_back(message_to(streams[i].rank, placement));
  }
  if (!relayed) return;
  outbox.push_back(
      message_to(message.peer, Layout{faults_.status(), neighborhood_.region(), part, message.tag,
                                      message.count, std::move(streams)}));
  if (message.count > 0) outbound_.push_back(message);
}

/// Lays streams one after the other in the message, which is a slot if contributors share memory
/// with this rank. If there is no slot, those contributors learn that from their places, and send
/// their tags.
std::vector<Passage> RelayNegotiation::lay_out(Led& message,
                                               const std::vector<ContributedStream>& streams,
                                               int region, std::size_t part) {
  std::vector<Passage> places(streams.size());
  std::vector<Window> windows;
  bool others = false;
  for (std::size_t i = 0; i < streams.size(); ++i) {
    const auto& [rank, tag, count, destinations, runs, occurrences] = streams[i];
    places[i].offset = message.count;
    if (rank == rank_) places[i].peer_index = static_cast<int>(outbound_.size());
    if (count > 0 && shares_memory_with(rank)) {
      places[i].peer_index = static_cast<int>(windows.size());
      windows.push_back({{{message.count, 0, count}}, 0, rank});
    }
    others |= rank != rank_ && count > 0;
    message.count += count;
  }
  if (!others) return places;

  std::optional<SlotPair> slots;
  if (!windows.empty()) slots = new_slots(static_cast<int>(windows.size()));
  message.store = slots ? transfers_.add(Store::own_slot(Store::Kind::taking_in, Phase::gather,
                                                         *slots, message.count, std::move(windows)))
                        : transfers_.hold(message.count);
  for (std::size_t i = 0; i < streams.size(); ++i) {
    const auto& [rank, tag, count, destinations, runs, occurrences] = streams[i];
    places[i].extent = message.count;
    if (rank == rank_ || count == 0) continue;
    if (slots && shares_memory_with(rank)) {
      places[i].slot = *slots;
      continue;
    }
    if (shares_memory_with(rank)) untagged_[{rank, region, part}] = transfers_.list.size();
    transfers_.take(Phase::gather, true, rank, tag, count,
                    Part{message.store, {{0, places[i].offset, count}}});
  }
  return places;
}

/// Adds the transfer to a leader, or of this rank's own items to a message that it leads.
void RelayNegotiation::contribute(int leader, const Placement& placement) {
  OutPair& pair = out_pair(placement.region);
  pair.verdict = placement.verdict;
  if (!placement.place) return;
  const Passage& place = *placement.place;
  const auto own = std::find_if(pair.own.begin(), pair.own.end(),
                                [&](const auto& its) { return its.part == placement.part; });
  require(own != pair.own.end(), Fault::internal, "rank ", leader, " placed part ", placement.part,
          " of what goes to region ", placement.region, ", to which this rank contributes nothing");
  const Stream stream = std::exchange(own->stream, {});
  if (leader == rank_) {
    const Led& message = outbound_[static_cast<std::size_t>(place.peer_index)];
    if (message.store < 0) {
      transfers_.give(Phase::non_local, false, message.peer, message.tag, message.count,
                      Part{Plan::source, stream.pack()});
    } else {
      transfers_.move(Phase::gather, Plan::source, message.store,
                      shifted(stream.pack(), place.offset));
    }
  } else if (place.shared()) {
    const int slot =
        transfers_.add(Store::far_slot(Store::Kind::taking_in, Phase::gather, leader, place, {}));
    transfers_.move(Phase::gather, Plan::source, slot, shifted(stream.pack(), place.offset));
  } else {
    std::int64_t tag = own->tag;
    if (shares_memory_with(leader)) {
      tag = new_tag();
      late_tags_.push_back(
          message_to(leader, LateTag{faults_.status(), placement.region, placement.part, tag}));
    }
    transfers_.give(Phase::gather, true, leader, tag, stream.count,
                    Part{Plan::source, stream.pack()});
  }
}

/// Sends the messages that this rank leads, except those of its own items alone.
void RelayNegotiation::send_led() {
  std::vector<Led> messages = outbound_;
  if (policy_.order == RelayPolicy::Order::rotated) {
    const auto above = std::stable_partition(
        messages.begin(), messages.end(), [&](const Led& message) { return message.peer > rank_; });
    const auto by_peer = [](const Led& a, const Led& b) { return a.peer < b.peer; };
    std::stable_sort(messages.begin(), above, by_peer);
    std::stable_sort(above, messages.end(), by_peer);
  }
  for (const Led& message : messages) {
    if (message.store < 0) continue;
    transfers_.give(Phase::non_local, false, message.peer, message.tag, message.count,
                    Part{message.store, {{0, 0, message.count}}});
  }
}

}  // namespace vicinal
