// One rank of a host is unlike the others: it is told not to share memory, or cannot.
#include <sys/resource.h>

#include <cstdlib>
#include <fstream>
#include <string>

#include "mpi/communicator.hpp"
#include "world.hpp"

namespace vicinal {
namespace {

using namespace testing;

/// An exchange that would go through shared memory where ranks believe that they have it.
void exchange_with_all(MPI_Comm comm) {
  const int size = size_of(comm);
  const Shifts shifts(comm, {1, 2, -1}, few_regions(size));
  Exchange exchange(shifts, "aggregate");
  for (int round = 0; round < 3; ++round) exchange.run(round);
}

/// The address space that this process has taken so far, in bytes.
rlim_t address_space() {
  std::ifstream status("/proc/self/statm");
  rlim_t pages = 0;
  status >> pages;
  return pages * 4096;
}

}  // namespace

TEST(one_rank_that_refuses_shared_memory_speaks_for_its_host) {
  const char* before = std::getenv("VICINAL_SHARED_MEMORY");
  const std::string kept = before == nullptr ? "" : before;
  for (const int apart : {0, world_size() - 1}) {
    const Duplicate comm;
    setenv("VICINAL_SHARED_MEMORY", world_rank() == apart ? "0" : "1", 1);
    const auto communicator = mpi::Communicator::of(comm);
    setenv("VICINAL_SHARED_MEMORY", kept.c_str(), 1);
    CHECK(communicator->arena() == nullptr);
    CHECK_EQUAL(communicator->machine()->hosts(), communicator->size());
    exchange_with_all(comm);
  }
}

TEST(a_rank_that_cannot_join_the_arena_is_a_host_of_its_own) {
  const int apart = world_size() - 1;
  const bool mine = world_rank() == apart;
  const Duplicate comm;
  rlimit before{};
  getrlimit(RLIMIT_AS, &before);
  rlimit small = before;
  // Enough for everything but the arena's address space.
  small.rlim_cur = address_space() + (rlim_t{1} << 30);
  if (mine) setrlimit(RLIMIT_AS, &small);
  const auto communicator = mpi::Communicator::of(comm);
  setrlimit(RLIMIT_AS, &before);
  if (mine) CHECK(communicator->arena() == nullptr && !communicator->arena_fault().empty());
  const auto machine = communicator->machine();
  for (int rank = 0; rank < world_size(); ++rank) {
    if (rank != apart) CHECK(!machine->same_host(rank, apart));
  }
  if (world_size() > 2 && !mine && communicator->arena() != nullptr) {
    CHECK(machine->same_host(0, world_size() - 2));
  }
  exchange_with_all(comm);
}

}  // namespace vicinal
