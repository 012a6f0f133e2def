// The consensus of an exchange, on its own. In an exchange, a region's members learn each other's
// faults earlier. A fault that the consensus lost would go undetected there.
#include "discovery/consensus.hpp"

#include "mpi/backoff.hpp"
#include "sparse_messages.hpp"
#include "world.hpp"

namespace vicinal::consensus_tests {

using namespace testing;

TEST(consensus_hears_of_the_flag_of_any_rank) {
  const auto communicator = world();
  const int size = communicator->size();
  int wrong = 0;  // checked at the end, so that no rank leaves the others alone
  for (const std::string& regions : region_kinds(size)) {
    for (const bool shared : {true, false}) {
      ExchangeOptions options(Method::locality);
      options.regions = regions;
      options.shared_memory = shared;
      RegionTeam& team = RegionTeam::of(*communicator, options);
      // In the last call, no rank sets the flag.
      for (int flagged = 0; flagged <= size; ++flagged) {
        team.begin_call();
        Consensus consensus(*communicator, team, communicator->rank() == flagged);
        consensus.enter();
        mpi::poll_until([&] { return consensus.complete(); });
        wrong += consensus.flagged() != (flagged < size) ? 1 : 0;
      }
    }
  }
  CHECK_EQUAL(wrong, 0);
}

}  // namespace vicinal::consensus_tests
