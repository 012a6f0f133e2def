// What ranks tell each other. Every letter begins with its writer's status, and every rank
// expects as many letters whether or not somebody is at fault, so that nobody waits in vain.
#include "planners/halving/negotiator.hpp"

#include <algorithm>

#include "planners/halving/letters.hpp"
#include "planners/halving/parcels.hpp"

namespace vicinal::halving {

namespace {

std::int64_t to_word(const Destination& destination) {
  return (static_cast<std::int64_t>(destination.edge) << 32) | destination.rank;
}
Destination to_destination(std::int64_t word) {
  return {static_cast<int>(word & 0xffffffff), static_cast<int>(word >> 32)};
}

}  // namespace

HalvingNegotiator::HalvingNegotiator(PlanRequest& request, const Halves& halves, Load load)
    : request_(request),
      neighborhood_(request.neighborhood),
      machine_(*request.neighborhood.machine),
      halves_(halves),
      load_(load),
      rank_(request.neighborhood.rank),
      faults_(rank_, request.options.unit) {
  // Edges are those of the graph, whatever became of the pattern.
  for (const int peer : neighborhood_.destinations) out_counts_[peer].push_back(0);
  for (const int peer : neighborhood_.sources) in_counts_[peer].push_back(0);
  if (request.fault) {
    faults_.blame(*request.fault);
    Parcel& nothing = routes_.parcels.emplace_back();
    nothing.origin = rank_;
    std::map<int, int> edges_to;
    for (const int peer : neighborhood_.destinations) {
      nothing.destinations.push_back({peer, edges_to[peer]++});
    }
  } else {
    make_parcels(request.pattern);
    list_in_edges(request.pattern);
  }
  keep_own();
}

bool HalvingNegotiator::takes_part() const {
  return !neighborhood_.destinations.empty() || !neighborhood_.sources.empty();
}

void HalvingNegotiator::make_parcels(const Pattern& pattern) {
  routes_.parcels = halving::make_parcels(pattern, rank_);
  for (const Parcel& parcel : routes_.parcels) {
    for (const Destination& to : parcel.destinations) {
      out_counts_.at(to.rank).at(static_cast<std::size_t>(to.edge)) = parcel.count;
    }
  }
}

void HalvingNegotiator::list_in_edges(const Pattern& pattern) {
  for (const InEdge& edge : pattern.in) {
    std::vector<const InEdge*>& edges = in_edges_[edge.rank];
    in_counts_.at(edge.rank).at(edges.size()) = edge.count;
    edges.push_back(&edge);
  }
}

void HalvingNegotiator::keep_own() {
  if (out_counts_.contains(rank_) && !faults_.own()) {
    compare(rank_, rank_, out_counts_.at(rank_), in_counts_[rank_]);
  }
  for (std::size_t i = 0; i < routes_.parcels.size(); ++i) {
    std::erase_if(routes_.parcels[i].destinations, [&](const Destination& to) {
      if (to.rank == rank_) keep(i, to.edge);
      return to.rank == rank_;
    });
  }
}

bool HalvingNegotiator::shares_memory_with(int other) const {
  return request_.options.shared_memory && machine_.same_host(rank_, other);
}

std::int64_t HalvingNegotiator::new_tag() {
  return faults_.attempt(std::int64_t{-1}, [&] { return request_.site.new_tag(); });
}

std::optional<std::int64_t> HalvingNegotiator::new_slot(int peers) {
  return faults_.attempt_if_room([&] { return request_.site.new_slot(peers); });
}

void HalvingNegotiator::compare(int from, int to, const std::vector<Index>& sent,
                                const std::vector<Index>& expected) {
  for (std::size_t edge = 0; edge < std::min(sent.size(), expected.size()); ++edge) {
    faults_.compare(from, to, sent[edge], expected[edge]);
  }
}

// --- edges ---------------------------------------------------------------------------------------

HalvingNegotiator::Letters HalvingNegotiator::write_edges() const {
  Letters outbox;
  const auto write = [&](int peer, Side side, const std::vector<Index>& counts) {
    if (peer == rank_) return;
    outbox.push_back(
        letter_to(peer, EdgeCounts{faults_.status(), side, neighborhood_.active.front(), counts}));
  };
  for (const auto& [peer, counts] : out_counts_) write(peer, Side::from_source, counts);
  for (const auto& [peer, counts] : in_counts_) write(peer, Side::from_destination, counts);
  return outbox;
}

Expected HalvingNegotiator::expected_edges() const {
  std::vector<int> peers;
  for (const auto* counts : {&out_counts_, &in_counts_}) {
    for (const auto& [peer, edges] : *counts) {
      if (peer != rank_) peers.push_back(peer);
    }
  }
  return {std::move(peers), "edges"};
}

void HalvingNegotiator::read_edges(const Letters& inbox) {
  const bool comparable = !faults_.own();
  for (const Letter& letter : inbox) {
    const auto theirs = contents_of<EdgeCounts>(letter);
    theirs.status.pass_on(faults_.status());
    const bool source = theirs.side == Side::from_source;
    if (source) region_leaders_[machine_.region_of(letter.peer)] = theirs.region_leader;
    if (!comparable || !theirs.status.good()) continue;
    if (source) compare(letter.peer, rank_, theirs.counts, in_counts_.at(letter.peer));
    if (!source) compare(rank_, letter.peer, out_counts_.at(letter.peer), theirs.counts);
  }
}

// --- halving -------------------------------------------------------------------------------------

HalvingNegotiator::Letters HalvingNegotiator::write_hop(int step, int agent) {
  Hop hop;
  hop.agent = agent;
  hop.arrivals = routes_.arrivals.size();
  HopLetter contents;
  for (std::size_t i = 0; i < routes_.parcels.size(); ++i) {
    std::vector<Destination>& mine = routes_.parcels[i].destinations;
    const auto far = std::stable_partition(mine.begin(), mine.end(), [&](const Destination& to) {
      return halves_.step_to(machine_.region_of(to.rank)) != step;
    });
    if (load_ == Load::pruned && far == mine.end()) continue;
    HopLetter::Load& load =
        contents.parcels.emplace_back(routes_.parcels[i].origin, routes_.parcels[i].count);
    std::transform(far, mine.end(), std::back_inserter(load.destinations), to_word);
    mine.erase(far, mine.end());
    if (routes_.parcels[i].count == 0) continue;
    hop.parcels.push_back(i);
    hop.count += routes_.parcels[i].count;
  }
  if (hop.count > 0) {
    const auto slot = shares_memory_with(agent) ? new_slot(1) : std::nullopt;
    hop.passage = slot ? Passage{-1, *slot, 0} : Passage{new_tag(), -1, -1};
  }
  contents.status = faults_.status();
  contents.passage = hop.passage;
  contents.count = hop.count;
  if (hop.count > 0) routes_.hops.push_back(std::move(hop));
  Letters outbox;
  outbox.push_back(letter_to(agent, contents));
  return outbox;
}

void HalvingNegotiator::read_arrival(const Letter& letter) {
  const auto hop = contents_of<HopLetter>(letter);
  hop.status.pass_on(faults_.status());
  for (const HopLetter::Load& load : hop.parcels) {
    const std::size_t place = routes_.parcels.size();
    Parcel& parcel = routes_.parcels.emplace_back();
    parcel.arrived = static_cast<int>(routes_.arrivals.size());
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
  if (hop.count > 0) routes_.arrivals.push_back({letter.peer, hop.passage, hop.count, 0});
}

const InEdge* HalvingNegotiator::serve(int origin, int edge) {
  require(served_.emplace(origin, edge).second, Fault::internal, "edge ", edge, " from rank ",
          origin, " to rank ", rank_, " is served twice");
  const auto edges = in_edges_.find(origin);
  if (edges == in_edges_.end() || static_cast<std::size_t>(edge) >= edges->second.size()) {
    return nullptr;
  }
  return edges->second[static_cast<std::size_t>(edge)];
}

void HalvingNegotiator::keep(std::size_t parcel, int edge) {
  const InEdge* in = serve(routes_.parcels[parcel].origin, edge);
  if (in != nullptr && in->count > 0) routes_.kept.push_back({parcel, in->slots});
}

// --- deliveries ----------------------------------------------------------------------------------

void HalvingNegotiator::add_delivery(int rank, const Entries& entries) {
  Delivery delivery;
  delivery.rank = rank;
  delivery.local = machine_.same_region(rank, rank_);
  for (const auto& [parcel, edge] : entries) {
    if (routes_.parcels[parcel].count == 0) continue;
    if (!delivery.parcels.empty() && delivery.parcels.back() == parcel) continue;
    delivery.parcels.push_back(parcel);
    delivery.count += routes_.parcels[parcel].count;
  }
  if (delivery.count > 0 && shares_memory_with(rank)) {
    delivery.passage.peer_index = routes_.readers++;
  } else if (delivery.count > 0) {
    delivery.passage.tag = new_tag();
  }
  routes_.deliveries.push_back(std::move(delivery));
}

void HalvingNegotiator::find_slot() {
  if (routes_.readers == 0) return;
  if (const auto slot = new_slot(routes_.readers)) {
    routes_.slot = *slot;
    return;
  }
  routes_.readers = 0;
  for (Delivery& delivery : routes_.deliveries) {
    if (delivery.passage.peer_index >= 0) delivery.passage = {new_tag(), -1, -1};
  }
}

void HalvingNegotiator::lay_out() {
  // Own parcels are read from the source buffer, unless ranks of the host want them, or an agent
  // gets the main buffer as it is.
  std::vector<bool> copied(routes_.parcels.size(), false);
  for (const Delivery& delivery : routes_.deliveries) {
    if (delivery.passage.peer_index < 0) continue;
    for (const std::size_t parcel : delivery.parcels) copied[parcel] = true;
  }
  for (const Hop& hop : routes_.hops) {
    if (load_ == Load::pruned || hop.arrivals == 0) continue;
    for (const std::size_t parcel : hop.parcels) copied[parcel] = true;
  }
  for (std::size_t i = 0; i < routes_.parcels.size(); ++i) {
    Parcel& parcel = routes_.parcels[i];
    if (parcel.arrived < 0 && !copied[i]) continue;
    parcel.offset = routes_.extent;
    routes_.extent += parcel.count;
  }
  Index offset = routes_.extent;
  for (auto arrival = routes_.arrivals.rbegin(); arrival != routes_.arrivals.rend(); ++arrival) {
    offset -= arrival->count;
    arrival->offset = offset;
  }
}

HalvingNegotiator::Letters HalvingNegotiator::write_deliveries() {
  std::map<int, Entries> wanted;
  for (std::size_t i = 0; i < routes_.parcels.size(); ++i) {
    for (const Destination& to : routes_.parcels[i].destinations) {
      wanted[to.rank].push_back({i, to.edge});
    }
  }
  for (const auto& [rank, entries] : wanted) add_delivery(rank, entries);
  find_slot();
  lay_out();

  Letters outbox;
  for (Delivery& delivery : routes_.deliveries) {
    const bool shared = delivery.passage.peer_index >= 0;
    if (shared) delivery.passage.slot = routes_.slot;
    Index offset = 0;
    const Parcel* last = nullptr;  // several edges may take one parcel
    for (const Entry& entry : wanted.at(delivery.rank)) {
      const Parcel& parcel = routes_.parcels[entry.parcel];
      if (last != nullptr && last != &parcel) offset += last->count;
      last = &parcel;
      outbox.push_back(
          letter_to(delivery.rank,
                    DeliveryLetter{faults_.status(), delivery.passage,
                                   shared ? routes_.extent : delivery.count, parcel.origin,
                                   entry.edge, parcel.count, shared ? parcel.offset : offset}));
    }
  }
  std::erase_if(routes_.deliveries, [](const Delivery& delivery) { return delivery.count == 0; });
  return outbox;
}

Expected HalvingNegotiator::expected_deliveries() const {
  Expected expected;
  expected.add_unnamed(Expected::any_kind, neighborhood_.sources.size() - served_.size(),
                       [this](std::span<const Letter> arrived) {
                         std::set<std::pair<int, int>> served = served_;
                         for (const Letter& letter : arrived) {
                           const auto theirs = contents_of<DeliveryLetter>(letter);
                           served.emplace(theirs.origin, theirs.edge);
                         }
                         return carriers_of(sources_without(served));
                       });
  return expected;
}

std::vector<int> HalvingNegotiator::sources_without(
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

void HalvingNegotiator::read_deliveries(const Letters& inbox) {
  std::map<int, std::size_t> pickup_from;
  for (const Letter& letter : inbox) {
    const auto theirs = contents_of<DeliveryLetter>(letter);
    theirs.status.pass_on(faults_.status());
    Pickup pickup;
    pickup.carrier = letter.peer;
    pickup.local = machine_.same_region(letter.peer, rank_);
    pickup.passage = theirs.passage;
    pickup.extent = theirs.extent;
    const InEdge* edge = serve(theirs.origin, theirs.edge);
    if (edge == nullptr || theirs.count == 0) continue;
    const auto [place, fresh] = pickup_from.try_emplace(letter.peer, routes_.pickups.size());
    if (fresh) routes_.pickups.push_back(std::move(pickup));
    for (const CopyRun& run : edge->slots) {
      append_run(routes_.pickups[place->second].runs,
                 {theirs.offset + run.source, run.target, run.count});
    }
  }
}

HalvingRoutes HalvingNegotiator::finish() {
  faults_.settle();
  require(served_.size() == neighborhood_.sources.size(), Fault::internal, "of the ",
          neighborhood_.sources.size(), " edges to rank ", rank_, ", ", served_.size(),
          " are served");
  return std::move(routes_);
}

}  // namespace vicinal::halving
