// Exchanges in a row take two tags in turn: see flat_exchange.cpp for why two are enough.
#pragma once

#include "mpi/communicator.hpp"

namespace vicinal {

/// Which of the two the next exchange on a communicator takes, 0 or 1; the same on all ranks, since those
/// are collective.
int next_turn(mpi::Communicator& communicator);

}  // namespace vicinal
