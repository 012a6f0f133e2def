// Every control message begins with its sender's status. Every rank expects as many control
// messages with a fault as without, so that no rank waits in vain.
#include "planners/halving/negotiation.hpp"

#include <algorithm>
#include <iterator>

#include "planners/cascade/paths.hpp"

namespace vicinal {

Task<Plans> plan_halving(PlanRequest request, halving::Passing passing, std::string_view planner) {
  halving::HalvingNegotiation negotiation(request, passing);
  co_return co_await negotiation.run(planner);
}

namespace halving {

namespace {

std::int64_t to_word(const Destination& destination) {
  return (static_cast<std::int64_t>(destination.edge) << 32) | destination.rank;
}
Destination to_destination(std::int64_t word) {
  return {static_cast<int>(word & 0xffffffff), static_cast<int>(word >> 32)};
}

}  // namespace

Task<Plans> HalvingNegotiation::run(std::string_view planner) {
  if (takes_part()) {
    co_await compare_edges();
    co_await find_route();
    if (!route_) co_return finish(planner);  // all ranks know of the fault
    for (int step = 0; step < route_->steps(); ++step) co_await hand_over(step);
    co_await deliver();
  }
  if (faults_.good()) use_kept();
  for (auto& [carrier, runs] : looked_at_) {
    const Transfer& taken = transfers_.list[delivered_.at(carrier)];
    Store& slot = transfers_.stores[static_cast<std::size_t>(taken.pieces.front().store)];
    slot.windows.front().picks = picks_of(std::move(runs));
  }
  if (faults_.good()) {
    require(served_.size() == neighborhood_.sources.size(), Fault::internal, "of the ",
            neighborhood_.sources.size(), " edges to rank ", rank_, ", ", served_.size(),
            " are served");
  }
  co_return finish(planner, std::move(reason_));
}

HalvingNegotiation::HalvingNegotiation(PlanRequest& request, Passing passing)
    : Ground(request), halves_(machine_, neighborhood_.region()), passing_(passing) {
  // Edges are those of the graph, even if the pattern is faulty.
  for (const int peer : neighborhood_.destinations) out_counts_[peer].push_back(0);
  for (const int peer : neighborhood_.sources) in_counts_[peer].push_back(0);
  if (request.fault) {
    Parcel& nothing = parcels_.emplace_back();
    nothing.origin = rank_;
    std::map<int, int> edges_to;
    for (const int peer : neighborhood_.destinations) {
      nothing.destinations.push_back({peer, edges_to[peer]++});
    }
  } else {
    take_parcels(request.pattern);
    list_in_edges(request.pattern);
  }
  keep_own();
}

HalvingNegotiation::HalvingNegotiation(PlanRequest& request, cascade::Decision decision)
    : HalvingNegotiation(request, Passing::cascaded) {
  decision_ = std::move(decision);
}

void HalvingNegotiation::take_parcels(const Pattern& pattern) {
  parcels_ = make_parcels(pattern, rank_);
  for (const Parcel& parcel : parcels_) {
    for (const Destination& to : parcel.destinations) {
      out_counts_.at(to.rank).at(static_cast<std::size_t>(to.edge)) = parcel.count;
    }
  }
}

void HalvingNegotiation::list_in_edges(const Pattern& pattern) {
  for (const InEdge& edge : pattern.in) {
    std::vector<const InEdge*>& edges = in_edges_[edge.rank];
    in_counts_.at(edge.rank).at(edges.size()) = edge.count;
    edges.push_back(&edge);
  }
}

void HalvingNegotiation::keep_own() {
  if (out_counts_.contains(rank_) && !faults_.own()) {
    compare(rank_, rank_, out_counts_.at(rank_), in_counts_[rank_]);
  }
  for (std::size_t i = 0; i < parcels_.size(); ++i) {
    std::erase_if(parcels_[i].destinations, [&](const Destination& to) {
      if (to.rank == rank_) keep(i, to.edge);
      return to.rank == rank_;
    });
  }
}

void HalvingNegotiation::compare(int from, int to, const std::vector<Index>& sent,
                                 const std::vector<Index>& expected) {
  for (std::size_t edge = 0; edge < std::min(sent.size(), expected.size()); ++edge) {
    faults_.compare(from, to, sent[edge], expected[edge]);
  }
}

// --- edges ---------------------------------------------------------------------------------------

Task<Done> HalvingNegotiation::compare_edges() {
  ControlMessages outbox;
  std::vector<int> peers;
  const auto write = [&](int peer, Side side, const std::vector<Index>& counts) {
    if (peer == rank_) return;
    peers.push_back(peer);
    outbox.push_back(message_to(
        peer, EdgeCounts{faults_.status(), side, neighborhood_.active().front(), counts}));
  };
  for (const auto& [peer, counts] : out_counts_) write(peer, Side::from_source, counts);
  for (const auto& [peer, counts] : in_counts_) write(peer, Side::from_destination, counts);
  Expected expected(std::move(peers), "edges");
  const bool comparable = !faults_.own();
  const ControlMessages inbox = co_await exchange(std::move(outbox), std::move(expected));
  read<EdgeCounts>(inbox, [&](int peer, const EdgeCounts& theirs) {
    const bool source = theirs.side == Side::from_source;
    if (source) region_leaders_[machine_.region_of(peer)] = theirs.region_leader;
    if (!comparable || !theirs.status.good()) return;
    if (source) compare(peer, rank_, theirs.counts, in_counts_.at(peer));
    if (!source) compare(rank_, peer, out_counts_.at(peer), theirs.counts);
  });
  co_return Done{};
}

// --- passing on ----------------------------------------------------------------------------------

Task<Done> HalvingNegotiation::find_route() {
  if (passing_ == Passing::cascaded) {
    if (!decision_) {
      Task<cascade::Decision> deciding = cascade::decide(
          request_, faults_, cascade::Volume(parcels_, neighborhood_), cascade::Among::radices);
      decision_ = co_await deciding;
      if (!faults_.good()) co_return Done{};
    }
    reason_ = std::move(decision_->reason);
    route_ = std::make_unique<cascade::Paths>(machine_, rank_, decision_->ranks, decision_->radix);
    co_return Done{};
  }
  std::vector<StepPartners> steps;
  if (halves_.steps() > 0) {
    steps = co_await find_agents(request_.conversation, neighborhood_, halves_, region_leaders_,
                                 passing_ == Passing::pruned ? 2 : 1);
  }
  route_ = std::make_unique<AgentsRoute>(halves_, std::move(steps));
  co_return Done{};
}

Task<Done> HalvingNegotiation::hand_over(int step) {
  ControlMessages outbox;
  for (const int taker : route_->takers(step)) {
    outbox.push_back(message_to(taker, load(step, taker)));
  }
  Expected expected(route_->givers(step), "parcels");
  const ControlMessages inbox = co_await exchange(std::move(outbox), std::move(expected));
  read<HopMessage>(inbox, [&](int origin, const HopMessage& hop) { accept(origin, hop); });
  co_return Done{};
}

/// Builds the message with all destinations that go to `taker` in this step.
HopMessage HalvingNegotiation::load(int step, int taker) {
  Hop hop{taker, {}, {}, arrivals_.size()};
  HopMessage contents;
  Index count = 0;
  for (std::size_t i = 0; i < parcels_.size(); ++i) {
    std::vector<Destination>& mine = parcels_[i].destinations;
    const auto far = std::stable_partition(mine.begin(), mine.end(), [&](const Destination& to) {
      return route_->taker(step, machine_.region_of(to.rank)) != taker;
    });
    if (passing_ != Passing::whole_buffer && far == mine.end()) continue;
    HopMessage::Load& load = contents.parcels.emplace_back(parcels_[i].origin, parcels_[i].count);
    std::transform(far, mine.end(), std::back_inserter(load.destinations), to_word);
    mine.erase(far, mine.end());
    if (parcels_[i].count == 0) continue;
    hop.parcels.push_back(i);
    count += parcels_[i].count;
  }
  if (count > 0) hop.passage = new_passage(taker, count);
  contents.status = faults_.status();
  contents.passage = hop.passage;
  if (count > 0) hops_.push_back(std::move(hop));
  return contents;
}

void HalvingNegotiation::accept(int origin, const HopMessage& hop) {
  for (const HopMessage::Load& load : hop.parcels) {
    const std::size_t place = parcels_.size();
    Parcel& parcel = parcels_.emplace_back();
    parcel.arrived = true;
    parcel.origin = load.origin;
    parcel.count = load.count;
    std::vector<int> own_edges;
    for (const std::int64_t word : load.destinations) {
      const Destination to = to_destination(word);
      if (to.rank == rank_) own_edges.push_back(to.edge);
      if (to.rank != rank_) parcel.destinations.push_back(to);
    }
    for (const int edge : own_edges) keep(place, edge);
  }
  if (hop.passage.extent > 0) arrivals_.push_back({origin, hop.passage, 0});
}

const InEdge* HalvingNegotiation::serve(int origin, int edge) {
  require(served_.emplace(origin, edge).second, Fault::internal, "edge ", edge, " from rank ",
          origin, " to rank ", rank_, " is served twice");
  const auto edges = in_edges_.find(origin);
  if (edges == in_edges_.end() || static_cast<std::size_t>(edge) >= edges->second.size()) {
    return nullptr;
  }
  return edges->second[static_cast<std::size_t>(edge)];
}

void HalvingNegotiation::keep(std::size_t parcel, int edge) {
  const InEdge* in = serve(parcels_[parcel].origin, edge);
  if (in != nullptr && in->count > 0) kept_.push_back({parcel, in->slots});
}

// --- deliveries ----------------------------------------------------------------------------------

Task<Done> HalvingNegotiation::deliver() {
  std::map<int, std::vector<Entry>> wanted;
  for (std::size_t i = 0; i < parcels_.size(); ++i) {
    for (const Destination& to : parcels_[i].destinations) wanted[to.rank].push_back({i, to.edge});
  }
  plan_deliveries(wanted);
  lay_out();
  open_main();
  ControlMessages outbox;
  write_deliveries(wanted, outbox);
  pass_on();
  send_deliveries();

  Expected expected;
  expected.add_unnamed(Expected::any_kind, neighborhood_.sources.size() - served_.size(),
                       [this](std::span<const ControlMessage> arrived) {
                         std::set<std::pair<int, int>> served = served_;
                         for (const ControlMessage& control_message : arrived) {
                           const auto theirs = contents_of<DeliveryMessage>(control_message);
                           served.emplace(theirs.origin, theirs.edge);
                         }
                         return carriers_of(sources_without(served));
                       });
  const ControlMessages inbox = co_await exchange(std::move(outbox), std::move(expected));
  read<DeliveryMessage>(inbox,
                        [&](int carrier, const DeliveryMessage& it) { accept(carrier, it); });
  co_return Done{};
}

void HalvingNegotiation::plan_deliveries(const std::map<int, std::vector<Entry>>& wanted) {
  for (const auto& [rank, entries] : wanted) {
    Delivery& delivery = deliveries_.emplace_back();
    delivery.rank = rank;
    for (const auto& [parcel, edge] : entries) {
      if (parcels_[parcel].count == 0) continue;
      if (!delivery.parcels.empty() && delivery.parcels.back() == parcel) continue;
      delivery.parcels.push_back(parcel);
      delivery.passage.extent += parcels_[parcel].count;
    }
  }
  int readers = 0;
  for (Delivery& delivery : deliveries_) {
    if (delivery.passage.extent > 0 && shares_memory_with(delivery.rank)) {
      delivery.passage.peer_index = readers++;
    }
  }
  const auto slots = readers > 0 ? new_slots(readers) : std::nullopt;
  for (Delivery& delivery : deliveries_) {
    if (delivery.passage.extent == 0) continue;
    if (slots && delivery.passage.peer_index >= 0) {
      delivery.passage.slot = *slots;
    } else {
      delivery.passage = Passage::message(new_tag(), delivery.passage.extent);
    }
  }
}

/// Own parcels stay in the source, unless a slot or a forwarded main buffer needs a copy.
void HalvingNegotiation::lay_out() {
  std::vector<bool> copied(parcels_.size(), false);
  for (const Delivery& delivery : deliveries_) {
    if (!delivery.passage.shared()) continue;
    for (const std::size_t parcel : delivery.parcels) copied[parcel] = true;
  }
  for (const Hop& hop : hops_) {
    if (passing_ != Passing::whole_buffer || hop.arrivals == 0) continue;
    for (const std::size_t parcel : hop.parcels) copied[parcel] = true;
  }
  for (std::size_t i = 0; i < parcels_.size(); ++i) {
    Parcel& parcel = parcels_[i];
    if (!parcel.arrived && !copied[i]) continue;
    parcel.offset = extent_;
    extent_ += parcel.count;
  }
  Index offset = extent_;
  for (auto arrival = arrivals_.rbegin(); arrival != arrivals_.rend(); ++arrival) {
    offset -= arrival->passage.extent;
    arrival->offset = offset;
  }
}

void HalvingNegotiation::open_main() {
  if (extent_ == 0) return;
  std::vector<Window> windows;
  std::vector<Delivery*> readers;
  for (Delivery& delivery : deliveries_) {
    if (!delivery.passage.shared()) continue;
    std::vector<CopyRun> runs;
    for (const std::size_t parcel : delivery.parcels) {
      runs.push_back({parcels_[parcel].offset, 0, parcels_[parcel].count});
    }
    windows.push_back({picks_of(std::move(runs)), 0, delivery.rank});
    readers.push_back(&delivery);
  }
  lay_end_to_end(windows);
  for (std::size_t i = 0; i < readers.size(); ++i) {
    readers[i]->passage.extent = extent_;
    readers[i]->passage.offset = windows[i].offset;
  }
  if (readers.empty()) {
    main_ = transfers_.hold(extent_);
    return;
  }
  const SlotPair slots = readers.front()->passage.slot;
  main_ = transfers_.add(
      Store::own_slot(Store::Kind::handing_out, Phase::local, slots, extent_, std::move(windows)));
}

void HalvingNegotiation::write_deliveries(const std::map<int, std::vector<Entry>>& wanted,
                                          ControlMessages& outbox) const {
  for (const Delivery& delivery : deliveries_) {
    Index offset = 0;
    const Parcel* last = nullptr;  // several edges may take one parcel
    for (const Entry& entry : wanted.at(delivery.rank)) {
      const Parcel& parcel = parcels_[entry.parcel];
      if (last != nullptr && last != &parcel) offset += last->count;
      last = &parcel;
      outbox.push_back(message_to(
          delivery.rank,
          DeliveryMessage{faults_.status(), delivery.passage, parcel.origin, entry.edge,
                          parcel.count, delivery.passage.shared() ? parcel.offset : offset}));
    }
  }
}

std::vector<int> HalvingNegotiation::sources_without(
    const std::set<std::pair<int, int>>& served) const {
  std::vector<int> unserved;
  for (const auto& [peer, counts] : in_counts_) {
    for (int edge = 0; edge < static_cast<int>(counts.size()); ++edge) {
      if (served.contains({peer, edge})) continue;
      unserved.push_back(peer);
      break;
    }
  }
  return unserved;
}

void HalvingNegotiation::accept(int carrier, const DeliveryMessage& control_message) {
  const InEdge* edge = serve(control_message.origin, control_message.edge);
  if (edge == nullptr || control_message.count == 0) return;
  std::vector<CopyRun> runs;
  for (const CopyRun& run : edge->slots) {
    append_run(runs, {control_message.offset + run.source, run.target, run.count});
  }
  if (runs.empty()) return;  // a count fault that both ends know of
  const Passage& passage = control_message.passage;
  if (passage.shared())
    looked_at_[carrier].push_back({control_message.offset, 0, control_message.count});
  const auto [entry, fresh] = delivered_.try_emplace(carrier, transfers_.list.size());
  if (!fresh) {
    std::vector<CopyRun>& all = transfers_.list[entry->second].pieces.front().runs;
    for (const CopyRun& run : runs) append_run(all, run);
    return;
  }
  const bool local = same_region(carrier);
  const Phase phase = local ? Phase::local : Phase::direct;
  if (passage.shared()) {
    const int slot =
        transfers_.add(Store::far_slot(Store::Kind::handing_out, phase, carrier, passage, {}));
    transfers_.move(phase, slot, Plan::target, std::move(runs));
  } else {
    transfers_.take(phase, local, carrier, passage.tag, passage.extent,
                    Part{Plan::target, std::move(runs)});
  }
}

}  // namespace halving
}  // namespace vicinal
