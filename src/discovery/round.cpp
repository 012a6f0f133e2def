// Sending, and receiving from whoever has sent.
#include "discovery/round.hpp"

namespace vicinal {

void Round::send(const Parcel& parcel, bool synchronous) {
  sends_.push_back((synchronous ? mpi::issend : mpi::isend)(communicator_.handle(), parcel.bytes,
                                                            parcel.peer, tag_));
}

void Round::collect() {
  while (auto arrival = mpi::improbe(communicator_.handle(), tag_)) {
    const auto room = arrivals_.room(arrival->peer, static_cast<std::size_t>(arrival->bytes));
    receives_.push_back(mpi::ireceive(*arrival, room));
  }
}

/// Testing one request progresses all, so the others are looked at only when it is complete.
bool Round::finished(std::vector<mpi::Request>& requests, std::size_t& done) {
  while (done < requests.size() && requests[done].test()) ++done;
  return done == requests.size();
}

}  // namespace vicinal
