// One message per edge. The k-th message between two ranks meets the k-th receive, call after call,
// since all go with the same tag and MPI keeps them in order.
#include "collectives/direct_call.hpp"

#include <cstring>
#include <ostream>
#include <vector>

#include "mpi/backoff.hpp"
#include "mpi/environment.hpp"

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

}  // namespace

std::shared_ptr<KeptPlan> tag_plan(Graph& graph) {
  auto& kept = graph.kept({KeptPlan::Use::tags, 0});
  if (!kept) {
    const Neighborhood& neighborhood = graph.neighborhood();
    Pattern pattern;
    for (std::size_t edge = 0; edge < neighborhood.destinations.size(); ++edge) {
      const auto place = static_cast<Index>(edge);
      pattern.out.push_back({neighborhood.destinations[edge], {{place, place, 1}}});
    }
    for (std::size_t edge = 0; edge < neighborhood.sources.size(); ++edge) {
      pattern.in.push_back({neighborhood.sources[edge], 1, {{0, static_cast<Index>(edge), 1}}});
    }
    PlanOptions options;
    options.unit = "edges";
    graph.keep(kept, pattern, find_planner("direct"), options, 0);
  }
  kept->require_sound();
  return kept;
}

DirectCall::DirectCall(std::shared_ptr<Graph> graph, std::shared_ptr<KeptPlan> tags,
                       const EdgeData& send, const EdgeData& receive)
    : graph_(std::move(graph)),
      tags_(std::move(tags)),
      messages_(graph_->communicator().handle()),
      note_([this](std::ostream& out) { describe(out); }) {
  const Neighborhood& neighborhood = graph_->neighborhood();
  copy_own(send, receive);
  for (std::size_t edge = 0; edge < neighborhood.sources.size(); ++edge) {
    const int peer = neighborhood.sources[edge];
    if (peer == neighborhood.rank) continue;
    const EdgePiece& piece = receive.piece(edge);
    messages_.receive(address(receive.buffer, piece.offset), piece.count, piece.type.handle,
                      piece.bytes(), peer, tags_->receive_tag(peer));
  }
  for (std::size_t edge = 0; edge < neighborhood.destinations.size(); ++edge) {
    const int peer = neighborhood.destinations[edge];
    if (peer == neighborhood.rank) continue;
    const EdgePiece& piece = send.piece(edge);
    messages_.send(address(send.buffer, piece.offset), piece.count, piece.type.handle, peer,
                   tags_->send_tag(peer));
  }
}

/// Which of the messages are complete only this call's own thread may ask MPI.
void DirectCall::describe(std::ostream& out) const {
  const auto list = [&](const char* what, const std::vector<int>& ranks) {
    out << what;
    for (const int rank : ranks) out << ' ' << rank;
  };
  const Neighborhood& neighborhood = graph_->neighborhood();
  out << "vicinal: rank " << neighborhood.rank
      << ": a neighborhood call with one message per edge,";
  list(" from ranks", neighborhood.sources);
  list(", to ranks", neighborhood.destinations);
  out << (in_flight_ ? ", has not been found complete\n" : ", is complete\n");
}

void DirectCall::copy_own(const EdgeData& send, const EdgeData& receive) {
  const Neighborhood& neighborhood = graph_->neighborhood();
  const int rank = neighborhood.rank;
  std::size_t in = 0;
  for (std::size_t out = 0; out < neighborhood.destinations.size(); ++out) {
    if (neighborhood.destinations[out] != rank) continue;
    while (neighborhood.sources[in] != rank) ++in;
    copy_piece(send, send.piece(out), receive, receive.piece(in++),
               graph_->communicator().handle());
  }
}

DirectCall::~DirectCall() {
  try {
    if (mpi::is_alive()) wait();
  } catch (const Error&) {
    // Whoever let go of the call without waiting does not want to hear of it.
  }
}

void DirectCall::start() {
  fail(Fault::request, "the request of a nonblocking call was started; it has begun with the call");
}

bool DirectCall::test() {
  if (!in_flight_) return true;
  try {
    if (messages_.test()) {
      in_flight_ = false;
      return true;
    }
    if (++polls_ < polls_between_notices) return false;
    polls_ = 0;
    heed_notices(tags_->plan());
    return false;
  } catch (const Error& error) {
    in_flight_ = false;
    messages_.abandon();
    tags_->spoil(error);
    throw;
  }
}

void DirectCall::wait() {
  mpi::poll_until([&] { return test(); });
}

}  // namespace vicinal
