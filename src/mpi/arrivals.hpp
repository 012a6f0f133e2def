// What has come from other ranks and belongs to another call than the one that waits: it tells in which call they are.
#pragma once

#include <iosfwd>

#include "mpi/backoff.hpp"
#include "mpi/communicator.hpp"

namespace vicinal::mpi {

/// By what a call of the program's waits.
struct OwnTraffic {
  /// Control messages of this graph and sequence are its own.
  ConversationKey key;
  bool is_all = false;  ///< it waits for control messages, and for nothing else
};

/// Goes on with a sentence: "; rank 3 has sent a control message for the creation of a graph", and so on; nothing where nothing
/// of another call has come. Takes in control messages that have arrived.
void describe_arrivals(Communicator& communicator, const OwnTraffic& own, std::ostream& out);

/// A call of the program's on a communicator, as long as this lives: see Doing.
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
