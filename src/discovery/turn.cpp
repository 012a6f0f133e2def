// Number of exchanges, kept with the communicator.
#include "discovery/turn.hpp"

#include <atomic>

namespace vicinal {
namespace {

struct Exchanges {
  std::atomic<unsigned> begun = 0;
};

}  // namespace

int next_turn(mpi::Communicator& communicator) {
  return static_cast<int>(++communicator.extension<Exchanges>().begun % 2);
}

}  // namespace vicinal
