// Describes messages that have arrived for another call than the one that waits. They tell in which
// call the other ranks are.
#pragma once

#include <iosfwd>

#include "mpi/backoff.hpp"
#include "mpi/communicator.hpp"

namespace vicinal::mpi {

/// Describes the messages that a call of the program waits for.
struct OwnTraffic {
  /// Control messages of this graph and sequence are its own.
  ConversationKey key;
  bool is_all = false;  ///< it waits for control messages only
};

/// Continues a sentence: "; rank 3 has sent a control message for the creation of a graph", and so
/// on. Writes nothing if no message of another call has arrived. Receives control messages that
/// have arrived.
void describe_arrivals(Communicator& communicator, const OwnTraffic& own, std::ostream& out);

/// Registers a call of the program on a communicator, as long as the object lives: see Doing.
class NamedCall {
 public:
  NamedCall(Communicator& communicator, const char* what, OwnTraffic own = {})
      : describe_{&communicator, own}, doing_(what, describe_) {}

 private:
  struct Describe {
    Communicator* communicator;
    OwnTraffic own;
    void operator()(std::ostream& out) const { describe_arrivals(*communicator, own, out); }
  };
  const Describe describe_;
  const Doing doing_;
};

}  // namespace vicinal::mpi
