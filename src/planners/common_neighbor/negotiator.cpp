// What is said in the three supersteps.
#include "planners/common_neighbor/negotiator.hpp"

#include <algorithm>
#include <array>
#include <set>

namespace vicinal::common_neighbor {

CommonNeighborNegotiator::CommonNeighborNegotiator(PlanRequest& request)
    : request_(request),
      neighborhood_(request.neighborhood),
      machine_(*request.neighborhood.machine),
      rank_(request.neighborhood.rank),
      faults_(rank_, request.options.unit) {
  if (request.fault) {
    faults_.blame(*request.fault);
  } else {
    out_links_ = out_links(request.pattern, request.pattern.identity);
    in_links_ = in_links(request.pattern);
  }
  // Links exist by the graph's edges, whatever became of the pattern.
  for (const int peer : neighborhood_.destinations) {
    out_links_.try_emplace(peer).first->second.peer = peer;
  }
  for (const int peer : neighborhood_.sources) {
    in_links_.try_emplace(peer).first->second.peer = peer;
  }
}

bool CommonNeighborNegotiator::takes_part() const {
  return !neighborhood_.destinations.empty() || !neighborhood_.sources.empty();
}

Via CommonNeighborNegotiator::via(int other) const {
  if (other == rank_) return Via::self;
  const bool shared = request_.options.shared_memory && machine_.same_host(rank_, other);
  return shared ? Via::shared : Via::message;
}

bool CommonNeighborNegotiator::leaves_region(int peer) const {
  return !machine_.same_region(rank_, peer);
}

bool CommonNeighborNegotiator::exhibited(const OutLink& link) const {
  return !no_room_ && link.count > 0 && !leaves_region(link.peer) && via(link.peer) == Via::shared;
}

std::int64_t CommonNeighborNegotiator::new_tag() {
  return faults_.attempt(std::int64_t{-1}, [&] { return request_.site.new_tag(); });
}

// --- superstep 1 ---------------------------------------------------------------------------------

std::vector<Letter> CommonNeighborNegotiator::write_links() const {
  if (neighborhood_.out.empty()) return {};
  std::vector<const OutLink*> leaving;
  for (const auto& [peer, link] : out_links_) {
    if (link.count > 0 && leaves_region(peer)) leaving.push_back(&link);
  }
  Links links{faults_.status(), merge(leaving).count, {}};
  for (const OutLink* link : leaving) links.out.push_back({link->peer, link->count});
  std::vector<Letter> outbox;
  for (const int member : neighborhood_.active) outbox.push_back(letter_to(member, links));
  return outbox;
}

Expected CommonNeighborNegotiator::expected_links() const {
  if (neighborhood_.out.empty()) return {};
  return {neighborhood_.active, "links"};
}

void CommonNeighborNegotiator::read_links(const std::vector<Letter>& inbox) {
  std::vector<GroupMember> members;
  for (const Letter& letter : inbox) {
    auto links = contents_of<Links>(letter);
    links.status.pass_on(faults_.status());
    members.push_back({letter.peer, links.distinct, std::move(links.out)});
  }
  if (members.empty()) return;
  const CommonNeighbors region(std::move(members));
  // With a fault in the region, each rank passes the word on to its own neighbours.
  const PlanOptions& options = request_.options;
  int size = faults_.good() ? options.group_size : 1;
  if (size == 0) {
    size = region.cheapest_size({options.element_bytes, options.profile, [&](int a, int b) {
                                   return options.shared_memory && machine_.same_host(a, b);
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

void CommonNeighborNegotiator::exhibit() {
  std::vector<const OutLink*> links;
  for (const auto& [peer, link] : out_links_) {
    if (!exhibited(link)) continue;
    links.push_back(&link);
    readers_.emplace(peer, -1);
  }
  for (const auto& [deliverer, destinations] : entrusted_) {
    if (via(deliverer) != Via::shared) continue;
    readers_.emplace(deliverer, -1);
    for (const int destination : destinations) links.push_back(&out_links_.at(destination));
  }
  if (links.empty()) return;
  int index = 0;
  for (auto& [reader, its_index] : readers_) its_index = index++;
  const auto slot = faults_.attempt_if_room([&] { return request_.site.new_slot(index); });
  no_room_ = !slot;
  if (no_room_) return;
  const Stream stream = merge(links);
  exhibited_ = pieces_by_peer(stream, true);
  Exhibit& exhibit = routes_.exhibit.emplace();
  exhibit.extent = stream.count;
  exhibit.readers = index;
  exhibit.pack = stream.pack();
  exhibit.slot = *slot;
}

SupplyLetter CommonNeighborNegotiator::supply_of(
    const Passage& passage, Index extent, const std::vector<int>& destinations,
    const std::map<int, std::vector<Piece>>& pieces) const {
  SupplyLetter letter{{}, passage, extent, {}};
  for (const int destination : destinations) {
    letter.links.push_back({destination, out_links_.at(destination).count, pieces.at(destination)});
  }
  return letter;
}

SupplyLetter CommonNeighborNegotiator::message_supply(int deliverer,
                                                      const std::vector<int>& destinations) {
  std::vector<const OutLink*> links;
  for (const int destination : destinations) links.push_back(&out_links_.at(destination));
  const Stream stream = merge(links);
  const std::int64_t tag = new_tag();
  routes_.handed.push_back({deliverer, true, tag, stream.count, stream.pack()});
  return supply_of({tag, -1, -1}, stream.count, destinations, pieces_by_peer(stream, true));
}

std::vector<Letter> CommonNeighborNegotiator::write_supplies() {
  exhibit();
  std::vector<Letter> outbox;
  for (const auto& [deliverer, destinations] : entrusted_) {
    const bool shared = via(deliverer) == Via::shared && !no_room_;
    SupplyLetter letter = shared ? supply_of({-1, routes_.exhibit->slot, readers_.at(deliverer)},
                                             routes_.exhibit->extent, destinations, exhibited_)
                                 : message_supply(deliverer, destinations);
    letter.status = faults_.status();
    outbox.push_back(letter_to(deliverer, letter));
  }
  return outbox;
}

std::set<int> CommonNeighborNegotiator::suppliers() const {
  std::set<int> others;
  for (const Delivery& delivery : delivered_) {
    others.insert(delivery.contributors.begin(), delivery.contributors.end());
  }
  others.erase(rank_);
  return others;
}

Expected CommonNeighborNegotiator::expected_supplies() const {
  const std::set<int> others = suppliers();
  return {{others.begin(), others.end()}, "supplies"};
}

void CommonNeighborNegotiator::read_supplies(const std::vector<Letter>& inbox) {
  for (const Letter& letter : inbox) {
    auto theirs = contents_of<SupplyLetter>(letter);
    theirs.status.pass_on(faults_.status());
    Supply& supply = supplies_[letter.peer];
    supply.owner = letter.peer;
    supply.via = theirs.passage.shared() ? Via::shared : Via::message;
    supply.slot = theirs.passage.slot;
    supply.peer_index = theirs.passage.peer_index;
    supply.tag = theirs.passage.tag;
    supply.extent = theirs.extent;
    for (SupplyLetter::Link& link : theirs.links) {
      contributions_[link.destination].emplace(
          letter.peer, Contribution{letter.peer, link.count, std::move(link.pieces)});
    }
  }
}

// --- superstep 3 ---------------------------------------------------------------------------------

CommonNeighborNegotiator::Contribution CommonNeighborNegotiator::own_contribution(
    int destination) const {
  const OutLink& link = out_links_.at(destination);
  const std::array<const OutLink*, 1> alone{&link};
  auto pieces = pieces_by_peer(merge(alone), false);
  return {rank_, link.count, std::move(pieces[destination])};
}

void CommonNeighborNegotiator::deliver(int destination,
                                       const std::vector<Contribution>& contributions,
                                       std::vector<Letter>& outbox) {
  OutgoingMessage message;
  message.peer = destination;
  message.local = !leaves_region(destination);
  std::vector<MessagePart> parts;
  for (const Contribution& contribution : contributions) {
    MessagePart& part = parts.emplace_back(lay_out(contribution.pieces, message.count));
    message.count += part.count;
    message.ingredients.push_back({contribution.origin, part.picks});
  }
  if (message.count > 0) message.tag = new_tag();
  for (std::size_t i = 0; i < parts.size(); ++i) {
    outbox.push_back(letter_to(destination, ArrivalLetter{faults_.status(),
                                                          contributions[i].origin,
                                                          contributions[i].count,
                                                          {message.tag, -1, -1},
                                                          message.count,
                                                          std::move(parts[i].pieces)}));
  }
  if (message.count > 0) routes_.messages.push_back(std::move(message));
}

std::vector<Letter> CommonNeighborNegotiator::write_arrivals() {
  std::vector<Letter> outbox;
  for (const Delivery& delivery : delivered_) {
    std::vector<Contribution> contributions;
    for (const int origin : delivery.contributors) {
      contributions.push_back(origin == rank_
                                  ? own_contribution(delivery.destination)
                                  : std::move(contributions_.at(delivery.destination).at(origin)));
    }
    deliver(delivery.destination, contributions, outbox);
  }
  for (const auto& [peer, link] : out_links_) {
    if (peer == rank_ || (link.count > 0 && leaves_region(peer))) continue;
    if (!exhibited(link)) {
      deliver(peer, {own_contribution(peer)}, outbox);
      continue;
    }
    outbox.push_back(letter_to(peer, ArrivalLetter{faults_.status(),
                                                   rank_,
                                                   link.count,
                                                   {-1, routes_.exhibit->slot, readers_.at(peer)},
                                                   routes_.exhibit->extent,
                                                   exhibited_.at(peer)}));
  }
  for (const auto& [peer, link] : in_links_) {
    if (peer == rank_) continue;
    outbox.push_back(letter_to(peer, Expectation{faults_.status(), link.count}));
  }
  return outbox;
}

Expected CommonNeighborNegotiator::expected_arrivals() const {
  std::vector<int> receivers, senders;
  for (const auto& [peer, link] : out_links_) {
    if (peer != rank_) receivers.push_back(peer);
  }
  for (const auto& [peer, link] : in_links_) {
    if (peer != rank_) senders.push_back(peer);
  }
  Expected expected;
  // Who delivers an edge is known to the sender's region only.
  const std::size_t count = senders.size();
  expected.add_unnamed(kind_of(ArrivalLetter::name), count,
                       [senders = std::move(senders)](std::span<const Letter> arrived) {
                         std::set<int> unserved(senders.begin(), senders.end());
                         for (const Letter& letter : arrived) {
                           unserved.erase(contents_of<ArrivalLetter>(letter).origin);
                         }
                         return carriers_of(std::vector<int>(unserved.begin(), unserved.end()));
                       });
  expected.add(kind_of(Expectation::name), std::move(receivers), "expectations");
  return expected;
}

void CommonNeighborNegotiator::read_arrival(int carrier, const ArrivalLetter& arrival) {
  const InLink& link = in_links_.at(arrival.origin);
  faults_.compare(arrival.origin, rank_, arrival.count, link.count);
  if (arrival.count != link.count || arrival.count == 0) return;
  std::vector<CopyRun>* runs = nullptr;
  if (arrival.passage.shared()) {
    Supply& supply = supplies_[carrier];
    supply.owner = carrier;
    supply.via = Via::shared;
    supply.slot = arrival.passage.slot;
    supply.peer_index = arrival.passage.peer_index;
    supply.extent = arrival.extent;
    runs = &supply.taken;
  } else {
    Straight& message = receives_[{carrier, arrival.passage.tag}];
    message.peer = carrier;
    message.local = !leaves_region(carrier);
    message.tag = arrival.passage.tag;
    message.count = arrival.extent;
    runs = &message.runs;
  }
  for (const Piece& piece : arrival.pieces) {
    append_slots(*runs, link, piece.offset, piece.count, piece.position);
  }
}

void CommonNeighborNegotiator::read_arrivals(const std::vector<Letter>& inbox) {
  for (const Letter& letter : inbox) {
    open<ArrivalLetter, Expectation>(
        letter, Either{[&](const ArrivalLetter& it) {
                         it.status.pass_on(faults_.status());
                         if (it.status.good()) read_arrival(letter.peer, it);
                       },
                       [&](const Expectation& it) {
                         it.status.pass_on(faults_.status());
                         if (!it.status.good()) return;
                         faults_.compare(rank_, letter.peer, out_links_.at(letter.peer).count,
                                         it.count);
                       }});
  }
}

CommonNeighborRoutes CommonNeighborNegotiator::finish() {
  routes_.self = join_self(rank_, out_links_, in_links_, faults_);
  faults_.settle();
  for (auto& [owner, supply] : supplies_) routes_.supplies.push_back(std::move(supply));
  for (auto& [from, message] : receives_) routes_.receives.push_back(std::move(message));
  return std::move(routes_);
}

}  // namespace vicinal::common_neighbor
