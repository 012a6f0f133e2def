// The point-to-point part of an exchange: messages leave at once, and whatever arrives with the tag
// of the exchange is taken in. When enough has arrived is for the methods to say.
#pragma once

#include <span>
#include <vector>

#include "discovery/parcels.hpp"
#include "mpi/collectives.hpp"
#include "mpi/communicator.hpp"

namespace vicinal {

class Round {
 public:
  Round(const mpi::Communicator& communicator, int tag) : communicator_(communicator), tag_(tag) {}

  /// Starts to send, to any rank but this one. A synchronous message is sent() only when its
  /// receiver has taken it in.
  void send(const Parcel& parcel, bool synchronous);
  /// Starts to receive what has come.
  void collect();

  /// Whether MPI is done with all that was sent.
  [[nodiscard]] bool sent() { return finished(sends_, sends_done_); }
  /// Whether all that was taken in is there.
  [[nodiscard]] bool received() { return finished(receives_, receives_done_); }
  /// How many messages were taken in.
  [[nodiscard]] std::size_t count() const { return receives_.size(); }
  [[nodiscard]] Arrivals& arrivals() { return arrivals_; }

 private:
  static bool finished(std::vector<mpi::Request>& requests, std::size_t& done);

  const mpi::Communicator& communicator_;
  int tag_;
  Arrivals arrivals_;
  std::vector<mpi::Request> sends_;
  std::vector<mpi::Request> receives_;
  std::size_t sends_done_ = 0;
  std::size_t receives_done_ = 0;
};

}  // namespace vicinal
