// Point-to-point messages of an exchange. send() starts at once, and collect() receives every
// message that arrives with the tag of the exchange. The methods decide when enough have arrived.
// Successive exchanges alternate between two tags; exchange.cpp explains why two suffice.
#pragma once

#include <cstddef>
#include <vector>

#include "discovery/parcels.hpp"
#include "mpi/collectives.hpp"
#include "mpi/communicator.hpp"

namespace vicinal {

class Round {
 public:
  Round(const mpi::Communicator& communicator, int tag) : communicator_(communicator), tag_(tag) {}

  /// Starts a send to another rank. A synchronous send completes only after its receiver has begun
  /// to receive it.
  void send(const Parcel& parcel, bool synchronous);
  /// Starts to receive from a rank that is known to send `bytes` bytes.
  void receive(Arrivals& into, int peer, std::size_t bytes);
  /// Starts to receive the messages that have arrived.
  void collect();

  /// Polls until all sends have completed.
  void finish_sends() { finish(sends_, to_take_in, false); }
  /// As finish_sends(), and calls collect() meanwhile.
  void collect_until_sent() { finish(sends_, to_take_in, true); }
  /// Calls collect() until `expected` receives have started. `senders` describes their senders.
  void collect_from(const char* senders, std::size_t expected);
  /// Polls until all receives have completed.
  void finish_receives() { finish(receives_, "send the rest of a message", false); }
  [[nodiscard]] Arrivals& arrivals() { return arrivals_; }

 private:
  struct Message {
    int peer;
    mpi::PendingOperation request;
  };
  static constexpr const char* to_take_in = "take in a message";

  void finish(std::vector<Message>& messages, const char* deed, bool collecting);

  const mpi::Communicator& communicator_;
  int tag_;
  Arrivals arrivals_;
  std::vector<Message> sends_;
  std::vector<Message> receives_;
};

/// Returns the tag index, 0 or 1, of the next exchange on a communicator. Equal on all ranks, since
/// exchanges are collective.
int next_parity(mpi::Communicator& communicator);

}  // namespace vicinal
