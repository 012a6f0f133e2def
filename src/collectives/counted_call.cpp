// What a call writes to the plan's edges, and reads from them.
#include "collectives/counted_call.hpp"

#include <algorithm>
#include <iterator>
#include <ostream>
#include <string>
#include <utility>

#include "memory/kind.hpp"

namespace vicinal {

namespace {

// What the word of an edge says that is no number of bytes.
constexpr std::int64_t departed = -1;
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

void keep(std::vector<mpi::KeptType>& types, EdgeData& side, bool without_gaps_too) {
  auto kept = keep_types(side, without_gaps_too);
  std::move(kept.begin(), kept.end(), std::back_inserter(types));
}

}  // namespace

CountedCall::CountedCall(std::shared_ptr<const DirectRoute> route, Tags tags, std::int64_t number,
                         int channel, std::shared_ptr<Review> review, std::optional<CallData> data,
                         After after)
    : Call(after.channel),
      route_(std::move(route)),
      tags_(tags),
      number_(number),
      channel_(channel),
      review_(std::move(review)),
      data_(std::move(data)),
      after_tag_(std::move(after.tag)),
      sent_(route_->communicator->handle()),
      received_(route_->communicator->handle()) {
  if (!data_) return;
  // Whoever begins later, or is sent messages of their own, needs types that the user may have freed by then.
  const bool at_once = !after_tag_ && (!after.channel || after.channel->over()) &&
                       review_->over() && data_->is_there();
  const CapacityPlan* const plan = at_once ? review_->plan().get() : nullptr;
  if (plan == nullptr) keep(types_, data_->send, true);
  keep(types_, data_->receive, plan == nullptr || !fits(data_->receive, plan->in));
}

bool CountedCall::may_begin() {
  if (!review_->test()) return false;
  try {
    if (data_ && !data_->is_there()) return false;
  } catch (...) {
    refused_ = std::current_exception();
    data_.reset();
  }
  plan_ = review_->plan();
  // By the plan too: later calls with this tag ask this one alone.
  return !after_tag_ || !after_tag_->holds_up();
}

void CountedCall::begin() {
  after_tag_.reset();
  if (plan_) {
    execute();
  } else {
    go_straight();
  }
}

void CountedCall::go_straight() {
  const auto make = [&](std::optional<CallData> data) {
    straight_ = std::make_shared<DirectCall>(route_, tags_.straight, std::move(data), nullptr);
  };
  try {
    make(std::move(data_));
  } catch (...) {
    refused_ = std::current_exception();
    mpi::with_memory([&] { make(std::nullopt); }, mpi::Meanwhile::nothing);
  }
}

void CountedCall::execute() {
  CapacityPlan::Turn& turn = plan_->turns[static_cast<std::size_t>(channel_)];
  write_pieces();
  // What does not come must not be taken for what came before.
  for (const Index place : plan_->in.places) turn.target[static_cast<std::size_t>(place)] = nothing;
  turn.executions->start(turn.binding(), number_ - plan_->first);
  executing_ = true;
  send_departed();
}

void CountedCall::write_pieces() {
  CapacityPlan::Turn& turn = plan_->turns[static_cast<std::size_t>(channel_)];
  for (std::size_t i = 0; i < plan_->out.capacities.size(); ++i) {
    const Index place = plan_->out.places[i];
    std::int64_t& word = turn.source[static_cast<std::size_t>(place)];
    word = nothing;
    if (!data_ || route_->destinations.empty()) continue;
    const EdgePiece& piece = data_->send.pieces[i];
    if (piece.bytes() > plan_->out.capacities[i]) {
      word = departed;
      continue;
    }
    try {
      mpi::pack(piece.type, address(data_->send.buffer, piece.offset), piece.count,
                bytes_after(turn.source, place), route_->communicator->handle());
      word = piece.bytes();
    } catch (...) {
      if (!refused_) refused_ = std::current_exception();
    }
  }
}

void CountedCall::send_departed() {
  const CapacityPlan::Turn& turn = plan_->turns[static_cast<std::size_t>(channel_)];
  for (std::size_t edge = 0; edge < route_->destinations.size(); ++edge) {
    const std::size_t i = plan_->out.piece_of(edge);
    if (turn.source[static_cast<std::size_t>(plan_->out.places[i])] != departed) continue;
    const EdgePiece& piece = data_->send.pieces[i];
    const int peer = route_->destinations[edge];
    try {
      sent_.send(address(data_->send.buffer, piece.offset), piece.count, piece.type.handle, peer,
                 tags_.departed);
    } catch (...) {
      if (!refused_) refused_ = std::current_exception();
      // An empty message says that this rank has failed. MPI finishes it by itself.
      static_cast<void>(mpi::isend(route_->communicator->handle(), {}, peer, tags_.departed));
    }
  }
}

bool CountedCall::poll(Polls polls) {
  if (straight_) {
    if (!straight_->over()) {
      const Claim claim(*straight_);
      if (!straight_->advance(polls)) return false;
    }
    if (refused_) std::rethrow_exception(refused_);
    if (straight_->fault()) std::rethrow_exception(straight_->fault());
    return true;
  }
  if (executing_) {
    try {
      if (!plan_->turns[static_cast<std::size_t>(channel_)].executions->advance(polls))
        return false;
    } catch (...) {
      if (!refused_) refused_ = std::current_exception();
    }
    executing_ = false;
    read_words();
  }
  std::erase_if(strays_, [](mpi::Stray& stray) { return stray.test(); });
  for (mpi::MessageBatch* messages : {&received_, &sent_}) {
    try {
      if (!messages->test()) return false;
    } catch (...) {
      if (!refused_) refused_ = std::current_exception();
    }
  }
  if (!strays_.empty()) return false;
  if (refused_) std::rethrow_exception(refused_);
  if (received_.has_room_left()) note_room_left();
  return !data_ || data_->is_back();
}

void CountedCall::read_words() {
  for (std::size_t edge = 0; edge < route_->sources.size(); ++edge) {
    try {
      read_word(edge);
    } catch (...) {
      if (!refused_) refused_ = std::current_exception();
    }
  }
}

void CountedCall::read_word(std::size_t edge) {
  CapacityPlan::Turn& turn = plan_->turns[static_cast<std::size_t>(channel_)];
  const Index place = plan_->in.places[edge];
  const std::int64_t word = turn.target[static_cast<std::size_t>(place)];
  const int peer = route_->sources[edge];
  const EdgePiece* const piece = data_ ? &data_->receive.piece(edge) : nullptr;
  if (word == departed) {
    const bool is_awaited = piece != nullptr && piece->bytes() > plan_->in.capacities[edge];
    try {
      if (is_awaited) {
        const auto length = length_of(*piece, data_->receive, plan_->in.capacities[edge]);
        received_.receive(address(data_->receive.buffer, piece->offset), piece->count,
                          piece->type.handle, length, peer, tags_.departed);
        return;
      }
    } catch (...) {
      if (!refused_) refused_ = std::current_exception();
    }
    mpi::with_memory([this] { strays_.reserve(route_->sources.size()); }, mpi::Meanwhile::nothing);
    strays_.emplace_back(route_->communicator->handle(), peer, tags_.departed);
    if (piece != nullptr && !is_awaited) {
      fail(Fault::count, "rank ", peer, " has sent more than ", plan_->in.capacities[edge],
           " bytes where ", piece->bytes(),
           " were expected; both ends of an edge must give the same count");
    }
    return;
  }
  if (piece == nullptr) return;
  if (word == nothing) {
    fail(Fault::elsewhere, "the exchange failed on rank ", peer,
         "; the message on that rank, or on one that it names, says more");
  }
  const bool has_room_left = data_->receive.at_most && word < piece->bytes();
  require(word == piece->bytes() || has_room_left, Fault::count, "rank ", peer, " has sent ", word,
          " bytes where ", piece->bytes(),
          " were expected; both ends of an edge must give the same count");
  if (has_room_left) note_room_left();
  mpi::unpack_bytes(piece->type, bytes_after(turn.target, place),
                    address(data_->receive.buffer, piece->offset), word,
                    route_->communicator->handle());
}

void CountedCall::name_what_is_due(std::ostream& out) const {
  if (!has_begun()) {
    out << "its plan, which waits for ";
    review_->name_awaited(out);
  } else if (straight_) {
    straight_->name_awaited(out);
  } else if (executing_) {
    plan_->turns[static_cast<std::size_t>(channel_)].executions->name_awaited(out);
  } else {
    mpi::MessageBatch::Due due = received_.due();
    due.to = sent_.due().to;
    name_messages(out, std::move(due), strays_);
  }
}

}  // namespace vicinal
