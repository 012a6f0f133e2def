// The ranks of a host agree on which ranks share memory. One that may not or cannot share it counts
// as sharing with no rank. Exchanges remain correct, and reports state why messages are used.
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <sstream>
#include <string>

#include "mpi/collectives.hpp"
#include "mpi/communicator.hpp"
#include "mpi/deferred.hpp"
#include "tight_address_space.hpp"
#include "world.hpp"

namespace vicinal::shared_memory_tests {
namespace {

using namespace testing;

/// Runs relayed and direct exchanges, whichever ranks share memory.
void run_exchanges(MPI_Comm comm) {
  const Shifts shifts(comm, {1, -2, 3, 0}, few_regions(size_of(comm)));
  for (const char* strategy : {"aggregate", "split", "direct"}) {
    Exchange exchange(shifts, strategy);
    for (int round = 0; round < 5; ++round) exchange.run(round);
  }
}

std::string described() {
  std::ostringstream out;
  mpi::describe_communicators(out);
  return out.str();
}

#if !defined(SANITIZED)
/// Returns whether all ranks share memory by default. Collective.
bool shares_by_default() {
  const Duplicate comm;
  const bool here = mpi::Communicator::of(comm)->arena_fault().empty();
  int all = here ? 1 : 0;
  MPI_Allreduce(MPI_IN_PLACE, &all, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
  return all != 0;
}
#endif

}  // namespace

TEST(one_rank_that_refuses_shared_memory_is_heeded_by_its_host) {
  const int size = world_size(), refusing = size - 1;
  for (const int rank : {0, refusing}) {
    const Duplicate comm;
    {
      const Variable wish("VICINAL_SHARED_MEMORY", world_rank() == rank ? "0" : "1");
      mpi::Communicator::of(comm);
    }
    const auto communicator = mpi::Communicator::of(comm);
    const auto node = [&](int of) {
      return communicator->places().node_of[static_cast<std::size_t>(of)];
    };
    if (node(world_rank()) == node(rank)) {
      CHECK(communicator->arena() == nullptr);
      CHECK_EQUAL(communicator->arena_fault(),
                  std::string("switched off by VICINAL_SHARED_MEMORY=0"));
      CHECK(described().find("switched off by VICINAL_SHARED_MEMORY=0") != std::string::npos);
    }
    for (int a = 0; a < size; ++a) {
      for (int b = 0; b < size; ++b) {
        if (a != b && node(a) == node(rank)) CHECK(!communicator->machine()->same_host(a, b));
      }
    }
    run_exchanges(comm);
  }
}

// The sanitizers allocate address space of their own at any time.
#if !defined(SANITIZED)
TEST(a_rank_that_cannot_join_is_counted_as_sharing_by_nobody) {
  const int size = world_size(), last = size - 1;
  if (size < 2 || !shares_by_default()) testing::skip("needs 2 ranks");
  run_exchanges(MPI_COMM_WORLD);  // MPI allocates what it needs
  for (const int outside : {last, 0}) {
    const Duplicate comm;
    // Freed communicators must not return memory below.
    CHECK(mpi::finish_deferred(std::chrono::seconds(10)));
    {
      std::unique_ptr<TightAddressSpace> tight;
      // Less than the first windows of two ranks take.
      if (world_rank() == outside) tight = std::make_unique<TightAddressSpace>(6 << 20);
      mpi::Communicator::of(comm);
    }
    const auto communicator = mpi::Communicator::of(comm);
    const auto node = [&](int of) {
      return communicator->places().node_of[static_cast<std::size_t>(of)];
    };
    for (int rank = 0; rank < size; ++rank) {
      if (rank != outside) CHECK(!communicator->machine()->same_host(rank, outside));
    }
    // Without the rank that would create it, no rank of the node has an arena.
    const bool creator = outside == node(outside);
    const std::string fault = communicator->arena_fault();
    if (world_rank() == outside) {
      CHECK(communicator->arena() == nullptr);
      CHECK(fault.find(creator ? "could not be made" : "mapping") != std::string::npos);
    } else if (node(world_rank()) == node(outside)) {
      CHECK_EQUAL(communicator->arena() == nullptr, creator);
      CHECK_EQUAL(fault, creator ? "the lowest rank of the node could not create it"
                                 : "of this node's ranks, these could not join: " +
                                       std::to_string(outside));
    }
    CHECK(described().find(fault) != std::string::npos);
    run_exchanges(comm);
  }
}
#endif

TEST(statistics_say_why_messages_are_used) {
  const Duplicate comm;
  const Variable wish("VICINAL_SHARED_MEMORY", "0");
  const std::int64_t rank = world_rank(), next = around(world_rank() + 1, world_size());
  HaloHandle halo;
  SUCCEEDS(vicinal_halo_create(comm, rank, rank + 1, 1, &next, MPI_INFO_NULL, &halo));
  vicinal_statistics statistics{};
  SUCCEEDS(vicinal_halo_get_statistics(halo, &statistics));
  CHECK_EQUAL(std::string(statistics.shared_memory),
              std::string("switched off by VICINAL_SHARED_MEMORY=0"));
}

}  // namespace vicinal::shared_memory_tests
