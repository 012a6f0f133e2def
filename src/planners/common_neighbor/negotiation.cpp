// The three supersteps.
#include "planners/common_neighbor/negotiation.hpp"

#include <algorithm>
#include <array>

namespace vicinal::common_neighbor {

CommonNeighborNegotiation::CommonNeighborNegotiation(PlanRequest& request) : Ground(request) {
  find_links(true);
}

Task<Plans> CommonNeighborNegotiation::run() {
  if (takes_part()) {
    co_await form_groups();
    co_await supply();
    co_await deliver();
  }
  transfers_.move(Phase::direct, Plan::source, Plan::target,
                  join_self(rank_, out_links_, in_links_, faults_));
  for (auto& [owner, runs] : looked_at_) {
    Store& store = transfers_.stores[static_cast<std::size_t>(supplied_.at(owner))];
    store.windows.front().picks = picks_of(std::move(runs));
  }
  co_return finish("common-neighbor");
}

bool CommonNeighborNegotiation::exhibited(const OutLink& link) const {
  return !no_room_ && link.count > 0 && same_region(link.peer) && shares_memory_with(link.peer);
}

// --- superstep 1 ---------------------------------------------------------------------------------

Task<Done> CommonNeighborNegotiation::form_groups() {
  ControlMessages outbox;
  Expected expected;
  if (!neighborhood_.out().empty()) {
    std::vector<const OutLink*> leaving;
    for (const auto& [peer, link] : out_links_) {
      if (link.count > 0 && !same_region(peer)) leaving.push_back(&link);
    }
    Links links{faults_.status(), merge(leaving).count, {}};
    for (const OutLink* link : leaving) links.out.push_back({link->peer, link->count});
    for (const int member : neighborhood_.active()) outbox.push_back(message_to(member, links));
    expected = {neighborhood_.active(), "links"};
  }
  const ControlMessages inbox = co_await exchange(std::move(outbox), std::move(expected));
  std::vector<GroupMember> members;
  read<Links>(inbox, [&](int member, Links its) {
    members.push_back({member, its.distinct, std::move(its.out)});
  });
  if (!members.empty()) divide(std::move(members));
  co_return Done{};
}

void CommonNeighborNegotiation::divide(std::vector<GroupMember> members) {
  const CommonNeighbors region(std::move(members));
  // After a fault in the region, each rank delivers for itself, so that its own neighbours learn of
  // the fault.
  int size = faults_.good() ? options_.group_size : 1;
  if (size == 0) {
    size = region.cheapest_size({options_.element_bytes, options_.profile, [&](int a, int b) {
                                   return options_.shared_memory && machine_.same_host(a, b);
                                 }});
  }
  for (Delivery& delivery : region.deliveries(size)) {
    const auto& contributors = delivery.contributors;
    if (delivery.deliverer == rank_) {
      delivered_.push_back(std::move(delivery));
    } else if (std::binary_search(contributors.begin(), contributors.end(), rank_)) {
      entrusted_[delivery.deliverer].push_back(delivery.destination);
    }
  }
  std::sort(delivered_.begin(), delivered_.end(),
            [](const Delivery& a, const Delivery& b) { return a.destination < b.destination; });
}

// --- superstep 2 ---------------------------------------------------------------------------------

/// Publishes this rank's items for its region in a slot, the exhibit.
void CommonNeighborNegotiation::exhibit() {
  std::vector<const OutLink*> links;
  for (const auto& [peer, link] : out_links_) {
    if (!exhibited(link)) continue;
    links.push_back(&link);
    readers_[peer];
  }
  for (const auto& [deliverer, destinations] : entrusted_) {
    if (!shares_memory_with(deliverer)) continue;
    readers_[deliverer];
    for (const int destination : destinations) links.push_back(&out_links_.at(destination));
  }
  if (links.empty()) return;
  const auto slots = new_slots(static_cast<int>(readers_.size()));
  no_room_ = !slots;
  if (no_room_) return;
  const Stream stream = merge(links);
  exhibited_ = pieces_by_peer(stream, true);
  std::vector<Window> windows;
  for (const auto& [reader, passage] : readers_) {
    windows.push_back({picks_of_reader(reader), 0, reader});
  }
  lay_end_to_end(windows);
  int index = 0;
  for (auto& [reader, passage] : readers_) {
    passage = {-1, *slots, index, stream.count, windows[static_cast<std::size_t>(index)].offset};
    ++index;
  }
  const int slot = transfers_.add(Store::own_slot(Store::Kind::handing_out, Phase::gather, *slots,
                                                  stream.count, std::move(windows)));
  transfers_.move(Phase::gather, Plan::source, slot, stream.pack());
}

std::vector<CopyRun> CommonNeighborNegotiation::picks_of_reader(int reader) const {
  std::vector<CopyRun> runs;
  const auto add = [&](int destination) {
    for (const LinkPiece& piece : exhibited_.at(destination)) {
      runs.push_back({piece.position, 0, piece.count});
    }
  };
  const auto link = out_links_.find(reader);
  if (link != out_links_.end() && exhibited(link->second)) add(reader);
  if (const auto its = entrusted_.find(reader); its != entrusted_.end()) {
    for (const int destination : its->second) add(destination);
  }
  return picks_of(std::move(runs));
}

SupplyMessage CommonNeighborNegotiation::supply_of(
    const Passage& passage, const std::vector<int>& destinations,
    const std::map<int, std::vector<LinkPiece>>& pieces) const {
  SupplyMessage control_message{{}, passage, {}};
  for (const int destination : destinations) {
    control_message.links.push_back(
        {destination, out_links_.at(destination).count, pieces.at(destination)});
  }
  return control_message;
}

SupplyMessage CommonNeighborNegotiation::message_supply(int deliverer,
                                                        const std::vector<int>& destinations) {
  std::vector<const OutLink*> links;
  for (const int destination : destinations) links.push_back(&out_links_.at(destination));
  const Stream stream = merge(links);
  const std::int64_t tag = new_tag();
  transfers_.give(Phase::gather, true, deliverer, tag, stream.count,
                  Part{Plan::source, stream.pack()});
  return supply_of(Passage::message(tag, stream.count), destinations, pieces_by_peer(stream, true));
}

Task<Done> CommonNeighborNegotiation::supply() {
  exhibit();
  ControlMessages outbox;
  for (const auto& [deliverer, destinations] : entrusted_) {
    const bool shared = shares_memory_with(deliverer) && !no_room_;
    SupplyMessage control_message =
        shared ? supply_of(readers_.at(deliverer), destinations, exhibited_)
               : message_supply(deliverer, destinations);
    control_message.status = faults_.status();
    outbox.push_back(message_to(deliverer, control_message));
  }
  const std::set<int> others = suppliers();
  Expected expected(std::vector<int>(others.begin(), others.end()), "supplies");
  const ControlMessages inbox = co_await exchange(std::move(outbox), std::move(expected));
  read<SupplyMessage>(inbox, [&](int peer, SupplyMessage it) { accept(peer, std::move(it)); });
  co_return Done{};
}

std::set<int> CommonNeighborNegotiation::suppliers() const {
  std::set<int> others;
  for (const Delivery& delivery : delivered_) {
    others.insert(delivery.contributors.begin(), delivery.contributors.end());
  }
  others.erase(rank_);
  return others;
}

void CommonNeighborNegotiation::accept(int supplier, SupplyMessage control_message) {
  const Passage& passage = control_message.passage;
  if (!passage.shared()) {
    const int store = supplied_[supplier] = transfers_.hold(passage.extent);
    transfers_.take(Phase::gather, true, supplier, passage.tag, passage.extent,
                    Part{store, all_picks(passage.extent)});
  }
  for (SupplyMessage::Link& link : control_message.links) {
    if (passage.shared()) exhibit_of(supplier, passage, link.pieces);
    contributions_[link.destination].emplace(
        supplier, Contribution{supplier, link.count, std::move(link.pieces)});
  }
}

/// Returns the store for another rank's exhibit, and adds these pieces to those that this rank
/// reads.
int CommonNeighborNegotiation::exhibit_of(int owner, const Passage& passage,
                                          const std::vector<LinkPiece>& pieces) {
  const auto [entry, fresh] = supplied_.try_emplace(owner, -1);
  if (fresh) {
    entry->second = transfers_.add(
        Store::far_slot(Store::Kind::handing_out, Phase::gather, owner, passage, {}));
  }
  for (const LinkPiece& piece : pieces) {
    looked_at_[owner].push_back({piece.position, 0, piece.count});
  }
  return entry->second;
}

// --- superstep 3 ---------------------------------------------------------------------------------

Task<Done> CommonNeighborNegotiation::deliver() {
  ControlMessages outbox;
  write_arrivals(outbox);
  for (const auto& [peer, link] : in_links_) {
    if (peer == rank_) continue;
    outbox.push_back(message_to(peer, Expectation{faults_.status(), link.count}));
  }
  Expected expected = expected_arrivals();
  const ControlMessages inbox = co_await exchange(std::move(outbox), std::move(expected));
  read<ArrivalMessage, Expectation>(
      inbox, Either{[&](int carrier, const ArrivalMessage& it) {
                      if (it.status.good()) accept(carrier, it);
                    },
                    [&](int receiver, const Expectation& it) { compare(receiver, it); }});
  co_return Done{};
}

CommonNeighborNegotiation::Contribution CommonNeighborNegotiation::own_contribution(
    int destination) const {
  const OutLink& link = out_links_.at(destination);
  const std::array<const OutLink*, 1> alone{&link};
  auto pieces = pieces_by_peer(merge(alone), false);
  return {rank_, link.count, std::move(pieces[destination])};
}

/// Sends one message with the items of each contributor for the destination.
void CommonNeighborNegotiation::send(int destination,
                                     const std::vector<Contribution>& contributions,
                                     ControlMessages& outbox) {
  std::vector<Part> ingredients;
  std::vector<MessagePart> parts;
  Index count = 0;
  for (const auto& [origin, its_count, pieces] : contributions) {
    MessagePart& part = parts.emplace_back(lay_out(pieces, count));
    count += part.count;
    if (part.count == 0) continue;
    const int store = origin == rank_ ? Plan::source : supplied_.at(origin);
    ingredients.push_back({store, std::move(part.picks)});
  }
  const Passage passage = Passage::message(count > 0 ? new_tag() : -1, count);
  for (std::size_t i = 0; i < parts.size(); ++i) {
    outbox.push_back(message_to(
        destination, ArrivalMessage{faults_.status(), contributions[i].origin,
                                    contributions[i].count, passage, std::move(parts[i].pieces)}));
  }
  if (count == 0) return;
  const bool local = same_region(destination);
  transfers_.give(local ? Phase::local : Phase::non_local, local, destination, passage.tag, count,
                  std::move(ingredients));
}

void CommonNeighborNegotiation::write_arrivals(ControlMessages& outbox) {
  for (const Delivery& delivery : delivered_) {
    std::vector<Contribution> contributions;
    for (const int origin : delivery.contributors) {
      contributions.push_back(origin == rank_
                                  ? own_contribution(delivery.destination)
                                  : std::move(contributions_.at(delivery.destination).at(origin)));
    }
    send(delivery.destination, contributions, outbox);
  }
  for (const auto& [peer, link] : out_links_) {
    if (peer == rank_ || (link.count > 0 && !same_region(peer))) continue;
    if (!exhibited(link)) {
      send(peer, {own_contribution(peer)}, outbox);
      continue;
    }
    outbox.push_back(message_to(peer, ArrivalMessage{faults_.status(), rank_, link.count,
                                                     readers_.at(peer), exhibited_.at(peer)}));
  }
}

Expected CommonNeighborNegotiation::expected_arrivals() const {
  std::vector<int> receivers, senders;
  for (const auto& [peer, link] : out_links_) {
    if (peer != rank_) receivers.push_back(peer);
  }
  for (const auto& [peer, link] : in_links_) {
    if (peer != rank_) senders.push_back(peer);
  }
  Expected expected;
  // Only the sender's region knows which rank delivers an edge.
  const std::size_t count = senders.size();
  expected.add_unnamed(kind_of(ArrivalMessage::name), count,
                       [senders = std::move(senders)](std::span<const ControlMessage> arrived) {
                         std::set<int> unserved(senders.begin(), senders.end());
                         for (const ControlMessage& control_message : arrived) {
                           unserved.erase(contents_of<ArrivalMessage>(control_message).origin);
                         }
                         return carriers_of(std::vector<int>(unserved.begin(), unserved.end()));
                       });
  expected.add(kind_of(Expectation::name), std::move(receivers), "expectations");
  return expected;
}

void CommonNeighborNegotiation::accept(int carrier, const ArrivalMessage& arrival) {
  const InLink& link = in_links_.at(arrival.origin);
  faults_.compare(arrival.origin, rank_, arrival.count, link.count);
  if (arrival.count != link.count || arrival.count == 0) return;
  std::vector<CopyRun> runs;
  for (const LinkPiece& piece : arrival.pieces) {
    append_slots(runs, link, piece.offset, piece.count, piece.position);
  }
  const Passage& passage = arrival.passage;
  if (passage.shared()) {
    const int slot = exhibit_of(carrier, passage, arrival.pieces);
    transfers_.move(Phase::local, slot, Plan::target, std::move(runs));
    return;
  }
  const auto [entry, fresh] = arriving_.try_emplace({carrier, passage.tag}, transfers_.list.size());
  if (fresh) {
    const bool local = same_region(carrier);
    transfers_.take(local ? Phase::local : Phase::non_local, local, carrier, passage.tag,
                    passage.extent, Part{Plan::target, std::move(runs)});
    return;
  }
  for (const CopyRun& run : runs) {
    append_run(transfers_.list[entry->second].pieces.front().runs, run);
  }
}

}  // namespace vicinal::common_neighbor
