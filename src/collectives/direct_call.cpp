// One message per edge. The k-th message between two ranks meets the k-th receive, since all of a call go
// with the same tag and MPI keeps them in order.
#include "collectives/direct_call.hpp"

#include <iterator>
#include <ostream>
#include <set>
#include <vector>

namespace vicinal {

namespace {

/// Copies a piece to another that holds as much, of whatever type.
void copy_piece(const EdgeData& send, const EdgePiece& from, const EdgeData& receive,
                const EdgePiece& to, MPI_Comm communicator) {
  require(from.bytes() == to.bytes(), Fault::count, "an edge of this rank to itself sends ",
          from.bytes(), " bytes, but ", to.bytes(),
          " are expected; both ends of an edge must give the same count");
  const std::byte* source = address(send.buffer, from.offset);
  std::byte* target = address(receive.buffer, to.offset);
  if (from.type.contiguous) {
    mpi::unpack(to.type, source, target, to.count, communicator);
  } else if (to.type.contiguous) {
    mpi::pack(from.type, source, from.count, target, communicator);
  } else {
    std::vector<std::byte> bytes(static_cast<std::size_t>(from.bytes()));
    mpi::pack(from.type, source, from.count, bytes.data(), communicator);
    mpi::unpack(to.type, bytes.data(), target, to.count, communicator);
  }
}

void copy_own(const DirectRoute& route, const EdgeData& send, const EdgeData& receive) {
  const int rank = route.communicator->rank();
  std::size_t in = 0;
  for (std::size_t out = 0; out < route.destinations.size(); ++out) {
    if (route.destinations[out] != rank) continue;
    while (route.sources[in] != rank) ++in;
    copy_piece(send, send.piece(out), receive, receive.piece(in++), route.communicator->handle());
  }
}

void name_ranks(std::ostream& out, const std::vector<int>& ranks) {
  for (const int rank : std::set<int>(ranks.begin(), ranks.end())) out << ' ' << rank;
}

}  // namespace

DirectCall::DirectCall(std::shared_ptr<const DirectRoute> route, int tag, EdgeData send,
                       EdgeData receive, std::shared_ptr<const Call> after)
    : Call(after),
      route_(std::move(route)),
      tag_(tag),
      send_(std::move(send)),
      receive_(std::move(receive)),
      messages_(route_->communicator->handle()) {
  copy_own(*route_, send_, receive_);
  if (!after) return;
  // It begins later; MPI looks at types when it is given messages, and not after.
  for (EdgeData* side : {&send_, &receive_}) {
    auto kept = keep_types(*side, true);
    std::move(kept.begin(), kept.end(), std::back_inserter(types_));
  }
}

void DirectCall::begin() {
  const int rank = route_->communicator->rank();
  for (std::size_t edge = 0; edge < route_->sources.size(); ++edge) {
    const int peer = route_->sources[edge];
    if (peer == rank) continue;
    const EdgePiece& piece = receive_.piece(edge);
    messages_.receive(address(receive_.buffer, piece.offset), piece.count, piece.type.handle,
                      piece.bytes(), peer, tag_);
  }
  for (std::size_t edge = 0; edge < route_->destinations.size(); ++edge) {
    const int peer = route_->destinations[edge];
    if (peer == rank) continue;
    const EdgePiece& piece = send_.piece(edge);
    messages_.send(address(send_.buffer, piece.offset), piece.count, piece.type.handle, peer, tag_);
  }
}

bool DirectCall::poll() { return messages_.test(); }

void DirectCall::name_awaited(std::ostream& out) const {
  out << "one message per edge, from ranks";
  name_ranks(out, route_->sources);
  out << ", to ranks";
  name_ranks(out, route_->destinations);
}

void FailedDirectCall::begin() {
  const int rank = route_->communicator->rank();
  for (const int peer : route_->sources) {
    if (peer != rank) strays_.emplace_back(route_->communicator->handle(), peer, tag_);
  }
  for (const int peer : route_->destinations) {
    // MPI finishes it by itself.
    if (peer != rank) {
      static_cast<void>(mpi::isend(route_->communicator->handle(), {}, peer, tag_));
    }
  }
}

bool FailedDirectCall::poll() {
  std::erase_if(strays_, [](mpi::Stray& stray) { return stray.test(); });
  return strays_.empty();
}

void FailedDirectCall::name_awaited(std::ostream& out) const {
  out << "what ranks";
  for (const mpi::Stray& stray : strays_) out << ' ' << stray.source();
  out << " send to a call that has failed here";
}

}  // namespace vicinal
