// What is said in the three supersteps.
#include "planners/common_neighbor/negotiator.hpp"

#include <algorithm>
#include <array>
#include <set>

namespace vicinal::common_neighbor {

namespace {

void write_pieces(Words& words, const std::vector<Piece>& pieces) {
  words.push_back(static_cast<std::int64_t>(pieces.size()));
  for (const Piece& piece : pieces) {
    words.insert(words.end(), {piece.offset, piece.position, piece.count});
  }
}

std::vector<Piece> read_pieces(Reader& reader) {
  std::vector<Piece> pieces(reader.size());
  for (Piece& piece : pieces) {
    piece.offset = reader.word();
    piece.position = reader.word();
    piece.count = reader.word();
  }
  return pieces;
}

}  // namespace

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
  Words words = begin_letter(LetterKind::summary, faults_.status(), {merge(leaving).count});
  for (const OutLink* link : leaving) words.insert(words.end(), {link->peer, link->count});
  std::vector<Letter> outbox;
  for (const int member : neighborhood_.active) outbox.push_back({member, words});
  return outbox;
}

std::size_t CommonNeighborNegotiator::expected_links() const {
  return neighborhood_.out.empty() ? 0 : neighborhood_.active.size();
}

void CommonNeighborNegotiator::read_links(const std::vector<Letter>& inbox) {
  std::vector<GroupMember> members;
  for (const Letter& letter : inbox) {
    Reader reader(letter);
    reader.copy_status(faults_.status());
    GroupMember& member = members.emplace_back();
    member.rank = letter.peer;
    member.distinct = reader.word();
    while (reader.more()) {
      const int destination = reader.rank();
      member.out.push_back({destination, reader.word()});
    }
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

void CommonNeighborNegotiator::write_shared_supply(Words& words, int deliverer,
                                                   const std::vector<int>& destinations) const {
  words.insert(words.end(),
               {routes_.exhibit->slot, readers_.at(deliverer), -1, routes_.exhibit->extent});
  for (const int destination : destinations) {
    words.insert(words.end(), {destination, out_links_.at(destination).count});
    write_pieces(words, exhibited_.at(destination));
  }
}

void CommonNeighborNegotiator::write_message_supply(Words& words, int deliverer,
                                                    const std::vector<int>& destinations) {
  std::vector<const OutLink*> links;
  for (const int destination : destinations) links.push_back(&out_links_.at(destination));
  const Stream stream = merge(links);
  const auto pieces = pieces_by_peer(stream, true);
  const std::int64_t tag = new_tag();
  words.insert(words.end(), {-1, -1, tag, stream.count});
  for (const int destination : destinations) {
    words.insert(words.end(), {destination, out_links_.at(destination).count});
    write_pieces(words, pieces.at(destination));
  }
  routes_.handed.push_back({deliverer, true, tag, stream.count, stream.pack()});
}

std::vector<Letter> CommonNeighborNegotiator::write_supplies() {
  exhibit();
  std::vector<Letter> outbox;
  for (const auto& [deliverer, destinations] : entrusted_) {
    Words body;
    if (via(deliverer) == Via::shared && !no_room_) {
      write_shared_supply(body, deliverer, destinations);
    } else {
      write_message_supply(body, deliverer, destinations);
    }
    Words words = begin_letter(LetterKind::stream, faults_.status());
    words.insert(words.end(), body.begin(), body.end());
    outbox.push_back({deliverer, std::move(words)});
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

std::size_t CommonNeighborNegotiator::expected_supplies() const { return suppliers().size(); }

void CommonNeighborNegotiator::read_supplies(const std::vector<Letter>& inbox) {
  for (const Letter& letter : inbox) {
    Reader reader(letter);
    reader.copy_status(faults_.status());
    Supply& supply = supplies_[letter.peer];
    supply.owner = letter.peer;
    supply.via = via(letter.peer);
    supply.slot = reader.word();
    supply.peer_index = reader.rank();
    supply.tag = reader.word();
    supply.extent = reader.word();
    if (supply.via == Via::shared && supply.slot < 0) supply.via = Via::message;
    while (reader.more()) {
      const int destination = reader.rank();
      Contribution contribution{letter.peer, reader.word(), {}};
      contribution.pieces = read_pieces(reader);
      contributions_[destination].emplace(letter.peer, std::move(contribution));
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
    Words words = begin_letter(
        LetterKind::delivery, faults_.status(),
        {contributions[i].origin, contributions[i].count, 0, message.tag, message.count});
    write_pieces(words, parts[i].pieces);
    outbox.push_back({destination, std::move(words)});
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
    Words words = begin_letter(
        LetterKind::delivery, faults_.status(),
        {rank_, link.count, 1, routes_.exhibit->slot, readers_.at(peer), routes_.exhibit->extent});
    write_pieces(words, exhibited_.at(peer));
    outbox.push_back({peer, std::move(words)});
  }
  for (const auto& [peer, link] : in_links_) {
    if (peer == rank_) continue;
    outbox.push_back({peer, begin_letter(LetterKind::expectation, faults_.status(), {link.count})});
  }
  return outbox;
}

std::size_t CommonNeighborNegotiator::expected_arrivals() const {
  const std::size_t own =
      (in_links_.contains(rank_) ? 1 : 0) + (out_links_.contains(rank_) ? 1 : 0);
  return in_links_.size() + out_links_.size() - own;
}

void CommonNeighborNegotiator::read_arrival(Reader& reader) {
  const int origin = reader.rank();
  const InLink& link = in_links_.at(origin);
  const Index count = reader.word();
  const bool shared = reader.word() != 0;
  faults_.compare(origin, rank_, count, link.count);
  if (count != link.count || count == 0) return;
  std::vector<CopyRun>* runs = nullptr;
  if (shared) {
    Supply& supply = supplies_[origin];
    supply.owner = origin;
    supply.via = Via::shared;
    supply.slot = reader.word();
    supply.peer_index = reader.rank();
    supply.extent = reader.word();
    runs = &supply.taken;
  } else {
    const std::int64_t tag = reader.word();
    Straight& message = receives_[{reader.peer(), tag}];
    message.peer = reader.peer();
    message.local = !leaves_region(reader.peer());
    message.tag = tag;
    message.count = reader.word();
    runs = &message.runs;
  }
  for (const Piece& piece : read_pieces(reader)) {
    append_slots(*runs, link, piece.offset, piece.count, piece.position);
  }
}

void CommonNeighborNegotiator::read_arrivals(const std::vector<Letter>& inbox) {
  for (const Letter& letter : inbox) {
    Reader reader(letter);
    reader.copy_status(faults_.status());
    if (!reader.good()) continue;
    if (reader.kind() == LetterKind::expectation) {
      faults_.compare(rank_, letter.peer, out_links_.at(letter.peer).count, reader.word());
    } else {
      read_arrival(reader);
    }
  }
}

std::string CommonNeighborNegotiator::missing_links(Arrived arrived) const {
  return letters_of(neighborhood_.active, arrived, "links");
}

std::string CommonNeighborNegotiator::missing_supplies(Arrived arrived) const {
  const std::set<int> others = suppliers();
  return letters_of({others.begin(), others.end()}, arrived, "supplies");
}

std::string CommonNeighborNegotiator::missing_arrivals(Arrived arrived) const {
  // Who delivers an edge is known to the sender's region only.
  std::vector<Letter> expectations;
  std::set<int> delivered;
  for (const Letter& letter : arrived) {
    Reader reader(letter);
    if (reader.kind() == LetterKind::expectation) expectations.push_back({letter.peer, {}});
    if (reader.kind() == LetterKind::delivery) delivered.insert(reader.rank());
  }
  std::vector<int> unserved, receivers;
  for (const auto& [peer, link] : in_links_) {
    if (peer != rank_ && !delivered.contains(peer)) unserved.push_back(peer);
  }
  for (const auto& [peer, link] : out_links_) {
    if (peer != rank_) receivers.push_back(peer);
  }
  const std::string carriers = carriers_of(unserved);
  const std::string others = letters_of(std::move(receivers), expectations, "expectations");
  return carriers + (carriers.empty() || others.empty() ? "" : ", ") + others;
}

CommonNeighborRoutes CommonNeighborNegotiator::finish() {
  routes_.self = join_self(rank_, out_links_, in_links_, faults_);
  faults_.settle();
  for (auto& [owner, supply] : supplies_) routes_.supplies.push_back(std::move(supply));
  for (auto& [from, message] : receives_) routes_.receives.push_back(std::move(message));
  return std::move(routes_);
}

}  // namespace vicinal::common_neighbor
