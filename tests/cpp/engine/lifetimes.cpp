// Release of resources: thousands of plans, halos and communicators. Objects remain usable after
// others are freed, even after the user's communicator is.
#include <algorithm>
#include <cstdint>
#include <numeric>

#include "holdings.hpp"
#include "mpi/communicator.hpp"
#include "world.hpp"

namespace vicinal::lifetimes_tests {
namespace {

using namespace testing;

/// Left to MPI_Finalize and the end of the process, as careless programs do.
RequestHandle forgotten_request;
HaloHandle forgotten_halo;
GraphHandle forgotten_graph;
std::vector<std::int64_t> forgotten_values(1024);

/// A halo in which each rank owns two indices, and needs those of both neighbors in a ring.
struct Ring {
  std::int64_t rank;
  std::int64_t size;
  HaloHandle halo;
  std::vector<std::int64_t> needed;

  explicit Ring(MPI_Comm comm, const std::string& strategy = "aggregate")
      : rank(rank_in(comm)), size(size_of(comm)) {
    for (const std::int64_t shift : {1, -1}) {
      const std::int64_t owner = (rank + shift + size) % size;
      needed.push_back(owner * 2);
      needed.push_back(owner * 2 + 1);
    }
    const Hints hints{{"vicinal_strategy", strategy},
                      {"vicinal_regions", few_regions(static_cast<int>(size))}};
    SUCCEEDS(vicinal_halo_create(comm, rank * 2, rank * 2 + 2, 4, needed.data(), hints, &halo));
  }
  void run(std::int64_t round) {
    const std::vector<std::int64_t> owned{rank * 200 + round, rank * 200 + 100 + round};
    std::vector<std::int64_t> ghosts(4, -1);
    SUCCEEDS(vicinal_halo_exchange(halo, owned.data(), ghosts.data(), 1, MPI_INT64_T));
    for (std::size_t i = 0; i < 4; ++i) CHECK_EQUAL(ghosts[i], needed[i] * 100 + round);
  }
};

/// Returns `many` on up to three ranks, and a fraction on more, where each planning takes
/// milliseconds.
int few_where_ranks_share_cores(int many) {
  const int size = world_size();
  return size <= 3 ? many : size <= 4 ? many / 5 : size <= 8 ? many / 15 : many / 50;
}

}  // namespace

TEST(plans_give_back_memory_and_tags) {
  const Duplicate comm;
  const Shifts shifts(comm, {1, -2, 3, 0}, few_regions(world_size()));
  const Holdings holdings(comm);
  const int many = few_where_ranks_share_cores(3000);
  for (int i = 0; i < many; ++i) {
    Exchange exchange(shifts, i % 2 == 0 ? "aggregate" : "split");
    // Some are never started, some once, some twice.
    for (int round = 0; round < i % 3; ++round) exchange.run(round);
  }
  holdings.check_given_back();
}

TEST(a_plan_held_does_not_hinder_others) {
  const Duplicate comm;
  const Shifts shifts(comm, {1, -2, 3}, few_regions(world_size()));
  Exchange held(shifts, "aggregate");
  for (int i = 0; i < 20; ++i) {
    held.start(i);
    Exchange other(shifts, "aggregate");  // planned while another is in flight
    other.run(i + 1);
    held.wait();
  }
}

TEST(halos_give_back_memory) {
  const Duplicate comm;
  Ring(comm).run(1);
  const Holdings holdings(comm);
  const int many = few_where_ranks_share_cores(300);
  for (int i = 0; i < many; ++i) {
    Ring ring(comm);
    if (i % 2 == 0) ring.run(i % 100);
  }
  holdings.check_given_back();
}

TEST(the_communicator_may_be_freed_first) {
  Duplicate comm;
  Shifts shifts(comm, {1, 2, -3}, few_regions(world_size()));
  Exchange made_before(shifts, "aggregate");
  Ring ring(comm);
  made_before.start(0);
  comm.free();
  made_before.wait();
  for (int round = 1; round <= 5; ++round) {
    made_before.run(round);
    ring.run(round);
  }
  Exchange made_after(shifts, "direct");
  made_after.start(7);
  made_before.start(7);
  // Errors are still returned, as was set for the communicator.
  vicinal_request request = made_after.handle();
  FAILS(MPI_ERR_REQUEST, vicinal_start(&request), "started again");
  shifts.free_graph();
  made_before.wait();
  made_after.wait();
  if (world_rank() % 2 == 0) made_after.free();
}

TEST(handles_may_be_left_to_the_end) {
  Duplicate comm;
  const int rank = world_rank(), size = world_size();
  forgotten_graph =
      graph_of(comm, {around(rank - 1, size)}, {around(rank + 1, size)}, few_regions(size));
  const int one = 1, none = 0, far = 512;
  SUCCEEDS(vicinal_neighbor_alltoallv_init(forgotten_values.data(), &one, &none, MPI_INT64_T,
                                           forgotten_values.data(), &one, &far, MPI_INT64_T,
                                           forgotten_graph, MPI_INFO_NULL, &forgotten_request));
  SUCCEEDS(vicinal_start(&forgotten_request));
  SUCCEEDS(vicinal_wait(&forgotten_request));
  Ring ring(comm);
  ring.run(1);
  forgotten_halo = std::move(ring.halo);
  MPI_Comm leaked = MPI_COMM_NULL;
  MPI_Comm_dup(comm, &leaked);  // lives until MPI_Finalize
  Ring(leaked).run(2);
}

TEST(sub_communicators_are_communicators) {
  const int rank = world_rank(), size = world_size();
  MPI_Comm part = MPI_COMM_NULL;
  MPI_Comm_split(MPI_COMM_WORLD, rank % 3, size - rank, &part);  // in reverse order
  Ring own(part);
  Ring whole(MPI_COMM_WORLD);
  for (int round = 0; round < 5; ++round) {
    whole.run(round);
    own.run(round + 50);
  }
  MPI_Comm_free(&part);
  own.run(60);

  MPI_Comm_split(MPI_COMM_WORLD, rank % 2 == 0 ? 0 : MPI_UNDEFINED, 0, &part);
  if (part == MPI_COMM_NULL) return;
  Ring(part).run(3);
  MPI_Comm_free(&part);
}

TEST(many_communicators_in_a_row_and_at_once) {
  const int many = std::max(few_where_ranks_share_cores(50), 10);
  for (int i = 0; i < many; ++i) {
    const Duplicate comm;
    const Shifts shifts(comm, {1}, "node");
    Exchange(shifts, "direct").run(i);
  }
  std::vector<MPI_Comm> comms(static_cast<std::size_t>(many / 5));
  std::vector<Ring> rings;
  for (MPI_Comm& comm : comms) {
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    rings.emplace_back(comm);
  }
  for (Ring& ring : rings) ring.run(9);
  for (MPI_Comm& comm : comms) MPI_Comm_free(&comm);
  rings.clear();
}

}  // namespace vicinal::lifetimes_tests
