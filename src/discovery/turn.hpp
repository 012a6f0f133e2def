// Successive exchanges alternate between two tags; flat_exchange.cpp explains why two suffice.
#pragma once

#include "mpi/communicator.hpp"

namespace vicinal {

/// Returns the tag index, 0 or 1, of the next exchange on a communicator. Equal on all ranks, since
/// exchanges are collective.
int next_turn(mpi::Communicator& communicator);

}  // namespace vicinal
