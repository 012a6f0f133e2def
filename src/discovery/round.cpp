// Sends, and receives from any rank. The number of exchanges is kept with the communicator.
#include "discovery/round.hpp"

#include <atomic>
#include <ostream>

#include "mpi/backoff.hpp"

namespace vicinal {

namespace {

struct Exchanges {
  std::atomic<unsigned> begun = 0;
};

}  // namespace

void Round::send(const Parcel& parcel, bool synchronous) {
  const auto start = synchronous ? mpi::issend : mpi::isend;
  sends_.push_back({parcel.peer, start(communicator_.handle(), parcel.bytes, parcel.peer, tag_)});
}

void Round::receive(Arrivals& into, int peer, std::size_t bytes) {
  const std::span<std::byte> room = into.room(peer, bytes);
  const MPI_Comm handle = communicator_.handle();
  receives_.push_back(
      {peer, room.size() == bytes
                 ? mpi::ireceive(handle, room, peer, tag_)
                 : mpi::idrop(handle, static_cast<std::int64_t>(bytes), peer, tag_)});
}

void Round::collect() {
  while (auto arrival = mpi::improbe(communicator_.handle(), tag_)) {
    const auto bytes = static_cast<std::size_t>(arrival->bytes);
    const std::span<std::byte> room = arrivals_.room(arrival->peer, bytes);
    receives_.push_back({arrival->peer, room.size() == bytes ? mpi::ireceive(*arrival, room)
                                                             : mpi::idrop(*arrival)});
  }
}

void Round::collect_from(const char* senders, std::size_t expected) {
  mpi::poll_until(
      [&] {
        collect();
        return receives_.size() == expected;
      },
      [&](std::ostream& out) {
        out << "messages from " << senders << ", " << expected << " in all";
      });
}

/// Testing one request progresses all, so the next one is tested only after this one has completed.
/// Each wait has its own constant reason, because another thread may read it.
void Round::finish(std::vector<Message>& messages, const char* deed, bool collecting) {
  for (Message& message : messages) {
    mpi::poll_until(
        [&] {
          if (message.request.test()) return true;
          if (collecting) collect();
          return false;
        },
        mpi::RankAwaited{message.peer, deed});
  }
}

int next_parity(mpi::Communicator& communicator) {
  return static_cast<int>(++communicator.extension<Exchanges>().begun % 2);
}

}  // namespace vicinal
