// The point-to-point part of an exchange: messages leave at once, and whatever arrives with the tag
// of the exchange is taken in. When enough has arrived is for the methods to say.
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

  /// Starts to send, to any rank but this one. MPI is done with a synchronous message only
  /// when its receiver has taken it in.
  void send(const Parcel& parcel, bool synchronous);
  /// Starts to receive from a rank that is known to send this many bytes.
  void receive(Arrivals& into, int peer, std::size_t bytes);
  /// Starts to receive what has come.
  void collect();

  /// Polls until MPI is done with all that was sent.
  void finish_sends() { finish(sends_, to_take_in, false); }
  /// The same, and collects meanwhile.
  void collect_until_sent() { finish(sends_, to_take_in, true); }
  /// Collects until as many messages were taken in. `senders`: whose they are, in words.
  void collect_from(const char* senders, std::size_t expected);
  /// Polls until all that was taken in is there.
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

}  // namespace vicinal
