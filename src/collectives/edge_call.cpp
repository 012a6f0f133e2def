// Posts the messages of a call, writes to the edges of its plan, and reads what has arrived.
#include "collectives/edge_call.hpp"

#include <algorithm>
#include <iterator>
#include <ostream>
#include <set>
#include <utility>

namespace vicinal {

namespace {

// Headers that are no number of bytes.
constexpr std::int64_t comes_apart = -1;
constexpr std::int64_t nothing = -2;

std::byte* bytes_after(std::vector<std::int64_t>& words, Index place) {
  return reinterpret_cast<std::byte*>(words.data() + place + 1);
}

bool fits(const EdgeData& data, const CapacityPlan::Rooms& rooms) {
  for (std::size_t edge = 0; edge < rooms.capacities.size(); ++edge) {
    if (data.piece(edge).bytes() > rooms.capacities[edge]) return false;
  }
  return true;
}

void name_ranks(std::ostream& out, const char* direction, const std::set<int>& ranks) {
  if (ranks.empty()) return;
  out << direction << (ranks.size() > 1 ? " ranks" : " rank");
  for (const int rank : ranks) out << ' ' << rank;
}

}  // namespace

EdgeCall::EdgeCall(std::shared_ptr<const EdgeRoute> route, Tags tags, std::optional<CallData> data,
                   const After& after, ByPlan by_plan)
    : Call(after.channel),
      route_(std::move(route)),
      tags_(tags),
      by_plan_(std::move(by_plan)),
      data_(std::move(data)),
      after_tag_(after.tag),
      messages_(route_->communicator->handle()),
      overflow_(route_->communicator->handle()) {
  if (!data_) return;
  const bool is_there = data_->is_there();
  const Replan* const replan = by_plan_.replan.get();
  if (replan == nullptr) serve_own_edges(!is_there);
  const bool begins_now = is_there && !after_tag_ && (!after.channel || after.channel->over()) &&
                          (replan == nullptr || replan->over());
  const CapacityPlan* const plan = begins_now && replan != nullptr ? replan->plan().get() : nullptr;
  if (begins_now && plan == nullptr) return;
  // A call that begins later, or has overflow messages, needs types that the user may have freed by
  // then.
  if (plan == nullptr) keep(data_->send, true);
  keep(data_->receive, plan == nullptr || !fits(data_->receive, plan->in));
}

void EdgeCall::keep(EdgeData& side, bool without_gaps_too) {
  auto kept = keep_types(side, without_gaps_too);
  std::move(kept.begin(), kept.end(), std::back_inserter(types_));
}

/// Copies, or only checks, the data of each edge from this rank to itself.
void EdgeCall::serve_own_edges(bool only_check) {
  const int rank = route_->communicator->rank();
  std::size_t in = 0;
  for (std::size_t out = 0; out < route_->destinations.size(); ++out) {
    if (route_->destinations[out] != rank) continue;
    while (route_->sources[in] != rank) ++in;
    const EdgePiece &from = data_->send.piece(out), &to = data_->receive.piece(in++);
    if (only_check) {
      check_fits(from, data_->receive, to);
    } else {
      copy_piece(data_->send, from, data_->receive, to, route_->communicator->handle());
    }
  }
  own_are_served_ = !only_check;
}

bool EdgeCall::may_begin() {
  if (by_plan_.replan && !by_plan_.replan->test()) return false;
  try {
    if (data_ && !data_->is_there()) return false;
  } catch (...) {
    refuse_with_current();
    data_.reset();
  }
  if (by_plan_.replan) plan_ = by_plan_.replan->plan();
  // Also checked with a plan: a later call with this tag checks this call alone.
  return !after_tag_ || !after_tag_->holds_up();
}

void EdgeCall::begin() {
  after_tag_.reset();
  if (plan_) {
    execute();
  } else {
    post_all();
  }
}

void EdgeCall::post_all() {
  try {
    if (data_ && !own_are_served_) serve_own_edges(false);
  } catch (...) {
    refuse_with_current();
    data_.reset();
  }
  const int rank = route_->communicator->rank();
  for (std::size_t edge = 0; edge < route_->sources.size(); ++edge) {
    const int peer = route_->sources[edge];
    if (peer == rank) continue;
    if (data_) {
      post_receive(data_->receive.piece(edge), -1, peer, tags_.direct);
    } else {
      discard(peer, tags_.direct);
    }
  }
  for (std::size_t edge = 0; edge < route_->destinations.size(); ++edge) {
    const int peer = route_->destinations[edge];
    if (peer == rank) continue;
    if (data_) {
      post_send(data_->send.piece(edge), peer, tags_.direct);
    } else {
      send_nothing(peer, tags_.direct);
    }
  }
}

/// `without`: a number of bytes that the message is known to exceed; -1 if none is known.
void EdgeCall::post_receive(const EdgePiece& piece, std::int64_t without, int peer, int tag) {
  const EdgeData& receive = data_->receive;
  const mpi::MessageBatch::Length length{receive.at_most ? without + 1 : piece.bytes(),
                                         piece.bytes()};
  try {
    messages_.receive(address(receive.buffer, piece.offset), piece.count, piece.type.handle, length,
                      peer, tag);
  } catch (...) {
    refuse_with_current();
    discard(peer, tag);
  }
}

void EdgeCall::post_send(const EdgePiece& piece, int peer, int tag) {
  mpi::MessageBatch& batch = plan_ ? overflow_ : messages_;
  try {
    batch.send(address(data_->send.buffer, piece.offset), piece.count, piece.type.handle, peer,
               tag);
  } catch (...) {
    refuse_with_current();
    send_nothing(peer, tag);
  }
}

/// Sends an empty message, which tells that this rank has failed. MPI completes it by itself.
void EdgeCall::send_nothing(int peer, int tag) {
  static_cast<void>(mpi::isend(route_->communicator->handle(), {}, peer, tag));
}

void EdgeCall::discard(int peer, int tag) {
  discards_.emplace_back(route_->communicator->handle(), peer, tag);
}

void EdgeCall::execute() {
  write_pieces();
  // If a header does not arrive, the receiver must not read that of the call before.
  for (const Index place : plan_->in.places)
    channel().target[static_cast<std::size_t>(place)] = nothing;
  channel().executions->start(channel().binding(), by_plan_.number - plan_->first);
  executing_ = true;
  for (std::size_t edge = 0; edge < route_->destinations.size(); ++edge) {
    const std::size_t i = plan_->out.piece_of(edge);
    if (channel().source[static_cast<std::size_t>(plan_->out.places[i])] != comes_apart) continue;
    post_send(data_->send.pieces[i], route_->destinations[edge], tags_.overflow);
  }
}

void EdgeCall::write_pieces() {
  for (std::size_t i = 0; i < plan_->out.capacities.size(); ++i) {
    const Index place = plan_->out.places[i];
    std::int64_t& header = channel().source[static_cast<std::size_t>(place)];
    header = nothing;
    if (!data_ || route_->destinations.empty()) continue;
    const EdgePiece& piece = data_->send.pieces[i];
    if (piece.bytes() > plan_->out.capacities[i]) {
      header = comes_apart;
      continue;
    }
    try {
      mpi::pack(piece.type, address(data_->send.buffer, piece.offset), piece.count,
                bytes_after(channel().source, place), route_->communicator->handle());
      header = piece.bytes();
    } catch (...) {
      refuse_with_current();
    }
  }
}

bool EdgeCall::poll(Polls polls) {
  if (executing_) {
    try {
      if (!channel().executions->advance(polls)) return false;
    } catch (...) {
      refuse_with_current();
    }
    executing_ = false;
    read_headers();
  }
  std::erase_if(discards_, [](mpi::DiscardReceive& discard) { return discard.test(); });
  for (mpi::MessageBatch* const batch : {&messages_, &overflow_}) {
    try {
      bool complete = batch->test();
      for (int made = 1; made < polls.times && !complete; ++made) complete = batch->test();
      if (!complete) return false;
    } catch (...) {
      refuse_with_current();
    }
  }
  if (!discards_.empty()) return false;
  if (refused_) std::rethrow_exception(refused_);
  if (messages_.has_room_left()) note_room_left();
  return !data_ || data_->is_back();
}

void EdgeCall::read_headers() {
  for (std::size_t edge = 0; edge < route_->sources.size(); ++edge) {
    try {
      read_header(edge);
    } catch (...) {
      refuse_with_current();
    }
  }
}

void EdgeCall::read_header(std::size_t edge) {
  const Index place = plan_->in.places[edge];
  const std::int64_t header = channel().target[static_cast<std::size_t>(place)];
  const std::int64_t capacity = plan_->in.capacities[edge];
  const int peer = route_->sources[edge];
  const EdgePiece* const piece = data_ ? &data_->receive.piece(edge) : nullptr;
  if (header == comes_apart) {
    if (piece != nullptr && piece->bytes() > capacity) {
      return post_receive(*piece, capacity, peer, tags_.overflow);
    }
    discard(peer, tags_.overflow);
    require(piece == nullptr, Fault::count, "rank ", peer, " has sent more than ", capacity,
            " bytes where ", piece != nullptr ? piece->bytes() : 0,
            " were expected; both ends of an edge must give the same count");
    return;
  }
  if (piece == nullptr) return;
  require(header != nothing, Fault::elsewhere, "the exchange failed on rank ", peer,
          "; the message on that rank, or on one that it names, says more");
  const bool has_room_left = data_->receive.at_most && header < piece->bytes();
  require(header == piece->bytes() || has_room_left, Fault::count, "rank ", peer, " has sent ",
          header, " bytes where ", piece->bytes(),
          " were expected; both ends of an edge must give the same count");
  if (has_room_left) note_room_left();
  mpi::unpack_bytes(piece->type, bytes_after(channel().target, place),
                    address(data_->receive.buffer, piece->offset), header,
                    route_->communicator->handle());
}

bool EdgeCall::holds_tags() const {
  return !plan_ && std::ranges::any_of(discards_, [](const mpi::DiscardReceive& discard) {
    return !discard.posted();
  });
}

void EdgeCall::name_what_is_due(std::ostream& out) const {
  if (by_plan_.replan && !has_begun()) {
    out << "its plan, which waits for ";
    by_plan_.replan->name_awaited(out);
    return;
  }
  if (executing_) return channel().executions->name_awaited(out);
  mpi::MessageBatch::Due due = messages_.due();
  if (!has_begun()) {
    due.from.insert(route_->sources.begin(), route_->sources.end());
    due.to.insert(route_->destinations.begin(), route_->destinations.end());
  }
  due.to.merge(overflow_.due().to);
  for (const mpi::DiscardReceive& discard : discards_) due.from.insert(discard.source());
  out << "messages";
  name_ranks(out, " from", due.from);
  name_ranks(out, due.from.empty() ? " to" : ", to", due.to);
  if (!data_) out << ", in a call that has failed here";
}

}  // namespace vicinal
