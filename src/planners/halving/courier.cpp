// What couriers tell each other. Every letter begins with its writer's status, and every rank
// expects as many letters whether or not somebody is at fault, so that nobody waits in vain.
#include "planners/halving/courier.hpp"

#include <algorithm>

#include "planners/halving/parcels.hpp"

namespace vicinal::halving {

namespace {

constexpr std::size_t status_words = 2;

enum class Side : std::int64_t { from_source, from_destination };

void read_status(const Letter& letter, Status& status) {
  if (letter.words[0] >= 0) {
    status.report(static_cast<Fault>(letter.words[0]), static_cast<int>(letter.words[1]));
  }
}
bool good(const Letter& letter) { return letter.words[0] < 0; }

std::int64_t to_word(const Destination& destination) {
  return (static_cast<std::int64_t>(destination.edge) << 32) | destination.rank;
}
Destination to_destination(std::int64_t word) {
  return {static_cast<int>(word & 0xffffffff), static_cast<int>(word >> 32)};
}

}  // namespace

Courier::Courier(PlanRequest& request, const Halves& halves, Load load)
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

bool Courier::takes_part() const {
  return !neighborhood_.destinations.empty() || !neighborhood_.sources.empty();
}

void Courier::make_parcels(const Pattern& pattern) {
  routes_.parcels = halving::make_parcels(pattern, rank_);
  for (const Parcel& parcel : routes_.parcels) {
    for (const Destination& to : parcel.destinations) {
      out_counts_.at(to.rank).at(static_cast<std::size_t>(to.edge)) = parcel.count;
    }
  }
}

void Courier::list_in_edges(const Pattern& pattern) {
  for (const InEdge& edge : pattern.in) {
    std::vector<const InEdge*>& edges = in_edges_[edge.rank];
    in_counts_.at(edge.rank).at(edges.size()) = edge.count;
    edges.push_back(&edge);
  }
}

void Courier::keep_own() {
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

bool Courier::shares_memory_with(int other) const {
  return request_.options.shared_memory && machine_.same_host(rank_, other);
}

Words Courier::begin_letter() const { return {faults_.status().fault(), faults_.status().rank()}; }

std::int64_t Courier::new_tag() {
  return faults_.attempt(std::int64_t{-1}, [&] { return request_.site.new_tag(); });
}

std::optional<std::int64_t> Courier::new_slot(int peers) {
  return faults_.attempt_if_room([&] { return request_.site.new_slot(peers); });
}

void Courier::compare(int from, int to, const std::vector<Index>& sent,
                      const std::vector<Index>& expected) {
  for (std::size_t edge = 0; edge < std::min(sent.size(), expected.size()); ++edge) {
    faults_.compare(from, to, sent[edge], expected[edge]);
  }
}

// --- edges ---------------------------------------------------------------------------------------

Courier::Letters Courier::write_edges() const {
  Letters outbox;
  const auto write = [&](int peer, Side side, const std::vector<Index>& counts) {
    if (peer == rank_) return;
    Words words;
    words.reserve(status_words + 2 + counts.size());
    words.insert(words.end(), {faults_.status().fault(), faults_.status().rank(),
                               static_cast<std::int64_t>(side), neighborhood_.active.front()});
    words.insert(words.end(), counts.begin(), counts.end());
    outbox.push_back({peer, std::move(words)});
  };
  for (const auto& [peer, counts] : out_counts_) write(peer, Side::from_source, counts);
  for (const auto& [peer, counts] : in_counts_) write(peer, Side::from_destination, counts);
  return outbox;
}

std::size_t Courier::expected_edges() const {
  return out_counts_.size() + in_counts_.size() - (out_counts_.contains(rank_) ? 1 : 0) -
         (in_counts_.contains(rank_) ? 1 : 0);
}

void Courier::read_edges(const Letters& inbox) {
  const bool comparable = !faults_.own();
  for (const Letter& letter : inbox) {
    read_status(letter, faults_.status());
    const auto side = static_cast<Side>(letter.words[status_words]);
    if (side == Side::from_source) {
      chiefs_[machine_.region_of(letter.peer)] = static_cast<int>(letter.words[status_words + 1]);
    }
    if (!comparable || !good(letter)) continue;
    const std::vector<Index> counts(letter.words.begin() + status_words + 2, letter.words.end());
    if (side == Side::from_source) compare(letter.peer, rank_, counts, in_counts_.at(letter.peer));
    if (side == Side::from_destination) {
      compare(rank_, letter.peer, out_counts_.at(letter.peer), counts);
    }
  }
}

// --- halving -------------------------------------------------------------------------------------

Courier::Letters Courier::write_hop(int step, int agent) {
  Hop hop;
  hop.agent = agent;
  hop.arrivals = routes_.arrivals.size();
  Words contents;
  for (std::size_t i = 0; i < routes_.parcels.size(); ++i) {
    std::vector<Destination>& mine = routes_.parcels[i].destinations;
    const auto far = std::stable_partition(mine.begin(), mine.end(), [&](const Destination& to) {
      return halves_.step_to(machine_.region_of(to.rank)) != step;
    });
    if (load_ == Load::pruned && far == mine.end()) continue;
    contents.insert(contents.end(), {routes_.parcels[i].origin, routes_.parcels[i].count,
                                     static_cast<std::int64_t>(mine.end() - far)});
    std::transform(far, mine.end(), std::back_inserter(contents), to_word);
    mine.erase(far, mine.end());
    if (routes_.parcels[i].count == 0) continue;
    hop.parcels.push_back(i);
    hop.count += routes_.parcels[i].count;
  }
  if (hop.count > 0) {
    const auto slot = shares_memory_with(agent) ? new_slot(1) : std::nullopt;
    hop.passage = slot ? Passage{-1, *slot, 0} : Passage{new_tag(), -1, -1};
  }
  Words words = begin_letter();
  words.insert(words.end(), {hop.passage.tag, hop.passage.slot, hop.count});
  words.insert(words.end(), contents.begin(), contents.end());
  if (hop.count > 0) routes_.hops.push_back(std::move(hop));
  Letters outbox;
  outbox.push_back({agent, std::move(words)});
  return outbox;
}

void Courier::read_arrival(const Letter& letter) {
  read_status(letter, faults_.status());
  const Words& words = letter.words;
  std::size_t at = status_words;
  Arrival arrival;
  arrival.origin = letter.peer;
  arrival.passage.tag = words[at++];
  arrival.passage.slot = words[at++];
  if (arrival.passage.shared()) arrival.passage.peer_index = 0;
  arrival.count = words[at++];
  while (at < words.size()) {
    const std::size_t place = routes_.parcels.size();
    Parcel& parcel = routes_.parcels.emplace_back();
    parcel.arrived = static_cast<int>(routes_.arrivals.size());
    parcel.origin = static_cast<int>(words[at++]);
    parcel.count = words[at++];
    std::vector<int> own_edges;
    for (std::int64_t left = words[at++]; left > 0; --left) {
      const Destination to = to_destination(words[at++]);
      if (to.rank == rank_) own_edges.push_back(to.edge);
      if (to.rank != rank_) parcel.destinations.push_back(to);
    }
    for (const int edge : own_edges) keep(place, edge);
  }
  if (arrival.count > 0) routes_.arrivals.push_back(arrival);
}

const InEdge* Courier::serve(int origin, int edge) {
  require(served_.emplace(origin, edge).second, Fault::internal, "edge ", edge, " from rank ",
          origin, " to rank ", rank_, " is served twice");
  const auto edges = in_edges_.find(origin);
  if (edges == in_edges_.end() || static_cast<std::size_t>(edge) >= edges->second.size()) {
    return nullptr;
  }
  return edges->second[static_cast<std::size_t>(edge)];
}

void Courier::keep(std::size_t parcel, int edge) {
  const InEdge* in = serve(routes_.parcels[parcel].origin, edge);
  if (in != nullptr && in->count > 0) routes_.kept.push_back({parcel, in->slots});
}

// --- deliveries ----------------------------------------------------------------------------------

void Courier::add_delivery(int rank, const Entries& entries) {
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

void Courier::find_slot() {
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

void Courier::lay_out() {
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

Courier::Letters Courier::write_deliveries() {
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
    Words heading = begin_letter();
    heading.insert(heading.end(),
                   {delivery.passage.tag, delivery.passage.slot, delivery.passage.peer_index,
                    shared ? routes_.extent : delivery.count});
    Index offset = 0;
    const Parcel* last = nullptr;  // several edges may take one parcel
    for (const Entry& entry : wanted.at(delivery.rank)) {
      const Parcel& parcel = routes_.parcels[entry.parcel];
      if (last != nullptr && last != &parcel) offset += last->count;
      last = &parcel;
      Words words;
      words.reserve(heading.size() + 4);
      words = heading;
      words.insert(words.end(),
                   {parcel.origin, entry.edge, parcel.count, shared ? parcel.offset : offset});
      outbox.push_back({delivery.rank, std::move(words)});
    }
  }
  std::erase_if(routes_.deliveries, [](const Delivery& delivery) { return delivery.count == 0; });
  return outbox;
}

std::size_t Courier::expected_deliveries() const {
  return neighborhood_.sources.size() - served_.size();
}

void Courier::read_deliveries(const Letters& inbox) {
  std::map<int, std::size_t> pickup_from;
  for (const Letter& letter : inbox) {
    read_status(letter, faults_.status());
    const Words& words = letter.words;
    Pickup pickup;
    pickup.carrier = letter.peer;
    pickup.local = machine_.same_region(letter.peer, rank_);
    pickup.passage = {words[2], words[3], static_cast<int>(words[4])};
    pickup.extent = words[5];
    const InEdge* edge = serve(static_cast<int>(words[6]), static_cast<int>(words[7]));
    const Index count = words[8], offset = words[9];
    if (edge == nullptr || count == 0) continue;
    const auto [place, fresh] = pickup_from.try_emplace(letter.peer, routes_.pickups.size());
    if (fresh) routes_.pickups.push_back(std::move(pickup));
    for (const CopyRun& run : edge->slots) {
      append_run(routes_.pickups[place->second].runs, {offset + run.source, run.target, run.count});
    }
  }
}

std::string Courier::missing_edges(std::span<const Letter> arrived) const {
  std::vector<int> peers;
  for (const auto* counts : {&out_counts_, &in_counts_}) {
    for (const auto& [peer, edges] : *counts) {
      if (peer != rank_) peers.push_back(peer);
    }
  }
  return letters_of(std::move(peers), arrived, "edges");
}

std::string Courier::missing_deliveries(std::span<const Letter> arrived) const {
  std::set<std::pair<int, int>> served = served_;
  for (const Letter& letter : arrived) {
    served.emplace(static_cast<int>(letter.words[6]), static_cast<int>(letter.words[7]));
  }
  std::vector<int> unserved;
  for (const auto& [peer, counts] : in_counts_) {
    for (int edge = 0; edge < static_cast<int>(counts.size()); ++edge) {
      if (served.contains({peer, edge})) continue;
      unserved.push_back(peer);
      break;
    }
  }
  return carriers_of(unserved);
}

HalvingRoutes Courier::finish() {
  faults_.settle();
  require(served_.size() == neighborhood_.sources.size(), Fault::internal, "of the ",
          neighborhood_.sources.size(), " edges to rank ", rank_, ", ", served_.size(),
          " are served");
  return std::move(routes_);
}

}  // namespace vicinal::halving
