// One message per edge. The k-th message between two ranks meets the k-th receive, since all of a call go
// with the same tag and MPI keeps them in order.
#include "collectives/direct_call.hpp"

#include <algorithm>
#include <iterator>
#include <ostream>
#include <set>
#include <vector>

#include "base/log.hpp"
#include "memory/kind.hpp"

namespace vicinal {

namespace {

void check_own(const EdgePiece& from, const EdgeData& receive, const EdgePiece& to) {
  const bool fits = receive.at_most ? from.bytes() <= to.bytes() : from.bytes() == to.bytes();
  if (fits && from.bytes() < to.bytes()) note_room_left();
  require(fits, Fault::count, "an edge of this rank to itself sends ", from.bytes(), " bytes, but ",
          to.bytes(), " are expected; both ends of an edge must give the same count");
}

/// What is sent along each edge of this rank to itself, and where it is expected.
template <class Visit>
void for_each_own(const DirectRoute& route, const CallData& data, Visit visit) {
  const int rank = route.communicator->rank();
  std::size_t in = 0;
  for (std::size_t out = 0; out < route.destinations.size(); ++out) {
    if (route.destinations[out] != rank) continue;
    while (route.sources[in] != rank) ++in;
    visit(data.send.piece(out), data.receive.piece(in++));
  }
}

void copy_own(const DirectRoute& route, const CallData& data) {
  for_each_own(route, data, [&](const EdgePiece& from, const EdgePiece& to) {
    copy_piece(data.send, from, data.receive, to, route.communicator->handle());
  });
}

void name_ranks(std::ostream& out, const char* way, const std::set<int>& ranks) {
  if (ranks.empty()) return;
  out << way << (ranks.size() > 1 ? " ranks" : " rank");
  for (const int rank : ranks) out << ' ' << rank;
}

}  // namespace

mpi::MessageBatch::Length length_of(const EdgePiece& piece, const EdgeData& receive,
                                    std::int64_t without) {
  return {receive.at_most ? without + 1 : piece.bytes(), piece.bytes()};
}

void note_room_left() noexcept {
  log_once(LogLevel::info,
           "less has come in an exchange than its receive counts announce; the standard has both "
           "ends of an edge give the same count, but MPI's own messages allow it");
}

void copy_piece(const EdgeData& send, const EdgePiece& from, const EdgeData& receive,
                const EdgePiece& to, MPI_Comm communicator) {
  check_own(from, receive, to);
  const std::byte* source = address(send.buffer, from.offset);
  std::byte* target = address(receive.buffer, to.offset);
  if (from.type.contiguous) {
    mpi::unpack_bytes(to.type, source, target, from.bytes(), communicator);
  } else if (to.type.contiguous) {
    mpi::pack(from.type, source, from.count, target, communicator);
  } else {
    const MemoryBlock bytes(kind_of(source).staging(), static_cast<std::size_t>(from.bytes()));
    mpi::pack(from.type, source, from.count, bytes.data(), communicator);
    mpi::unpack_bytes(to.type, bytes.data(), target, from.bytes(), communicator);
  }
}

void name_messages(std::ostream& out, mpi::MessageBatch::Due due,
                   const std::vector<mpi::Stray>& strays) {
  for (const mpi::Stray& stray : strays) due.from.insert(stray.source());
  out << "messages";
  name_ranks(out, " from", due.from);
  name_ranks(out, due.from.empty() ? " to" : ", to", due.to);
}

DirectCall::DirectCall(std::shared_ptr<const DirectRoute> route, int tag,
                       std::optional<CallData> data, std::shared_ptr<const Call> after)
    : Call(after),
      route_(std::move(route)),
      tag_(tag),
      data_(std::move(data)),
      messages_(route_->communicator->handle()) {
  if (!data_) return;
  own_are_copied_ = data_->is_there();
  if (own_are_copied_) {
    copy_own(*route_, *data_);
  } else {
    for_each_own(*route_, *data_, [&](const EdgePiece& from, const EdgePiece& to) {
      check_own(from, data_->receive, to);
    });
  }
  if (!after && own_are_copied_) return;
  // It begins later; MPI looks at types when it is given messages, and not after.
  for (EdgeData* side : {&data_->send, &data_->receive}) {
    auto kept = keep_types(*side, true);
    std::move(kept.begin(), kept.end(), std::back_inserter(types_));
  }
}

bool DirectCall::may_begin() {
  if (own_are_copied_) return true;
  try {
    if (!data_->is_there()) return false;
    copy_own(*route_, *data_);
  } catch (...) {
    refused_ = std::current_exception();
    data_.reset();
  }
  own_are_copied_ = true;
  return true;
}

void DirectCall::begin() {
  const int rank = route_->communicator->rank();
  for (std::size_t edge = 0; edge < route_->sources.size(); ++edge) {
    if (route_->sources[edge] != rank) post_receive(edge, route_->sources[edge]);
  }
  for (std::size_t edge = 0; edge < route_->destinations.size(); ++edge) {
    if (route_->destinations[edge] != rank) post_send(edge, route_->destinations[edge]);
  }
}

void DirectCall::post_receive(std::size_t edge, int peer) {
  try {
    if (data_) {
      const EdgePiece& piece = data_->receive.piece(edge);
      messages_.receive(address(data_->receive.buffer, piece.offset), piece.count,
                        piece.type.handle, length_of(piece, data_->receive, -1), peer, tag_);
      return;
    }
  } catch (...) {
    if (!refused_) refused_ = std::current_exception();
  }
  mpi::with_memory([this] { strays_.reserve(route_->sources.size()); }, mpi::Meanwhile::nothing);
  strays_.emplace_back(route_->communicator->handle(), peer, tag_);
}

void DirectCall::post_send(std::size_t edge, int peer) {
  try {
    if (data_) {
      const EdgePiece& piece = data_->send.piece(edge);
      messages_.send(address(data_->send.buffer, piece.offset), piece.count, piece.type.handle,
                     peer, tag_);
      return;
    }
  } catch (...) {
    if (!refused_) refused_ = std::current_exception();
  }
  // An empty message says that this rank has failed. MPI finishes it by itself.
  static_cast<void>(mpi::isend(route_->communicator->handle(), {}, peer, tag_));
}

bool DirectCall::poll(Polls polls) {
  std::erase_if(strays_, [](mpi::Stray& stray) { return stray.test(); });
  try {
    bool complete = messages_.test();
    for (int made = 1; made < polls.times && !complete; ++made) complete = messages_.test();
    if (!complete) return false;
  } catch (...) {
    if (!refused_) refused_ = std::current_exception();
  }
  if (!strays_.empty()) return false;
  if (refused_) std::rethrow_exception(refused_);
  if (messages_.has_room_left()) note_room_left();
  return !data_ || data_->is_back();
}

bool DirectCall::holds_tags() const {
  return std::any_of(strays_.begin(), strays_.end(),
                     [](const mpi::Stray& stray) { return !stray.posted(); });
}

void DirectCall::name_what_is_due(std::ostream& out) const {
  mpi::MessageBatch::Due due = messages_.due();
  if (!has_begun()) {
    due.from.insert(route_->sources.begin(), route_->sources.end());
    due.to.insert(route_->destinations.begin(), route_->destinations.end());
  }
  name_messages(out, std::move(due), strays_);
  if (!data_) out << ", in a call that has failed here";
}

}  // namespace vicinal
