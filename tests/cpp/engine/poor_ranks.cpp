// A rank that has no memory, for a moment, while something is made that all ranks have to have: none has it, and the
// next one is as good as ever.
#include <array>
#include <atomic>
#include <functional>
#include <memory>
#include <new>

#include "collectives/graph.hpp"
#include "mpi/chores.hpp"
#include "world.hpp"

namespace {

/// What an attribute that is set on a communicator comes to.
int outcome_of_attributes = MPI_SUCCESS;

}  // namespace

// MPI's profiling interface: the library's calls come here.
extern "C" int MPI_Comm_set_attr(MPI_Comm comm, int key, void* value) {
  if (outcome_of_attributes != MPI_SUCCESS) return outcome_of_attributes;
  return PMPI_Comm_set_attr(comm, key, value);
}

namespace vicinal::poor_ranks_tests {
namespace {

using namespace testing;

Ends beside(int shift) { return Ends({around(world_rank() + shift, world_size())}); }

}  // namespace

TEST(a_rank_that_fails_behind_its_last_letter_has_all_go_without_the_graph) {
  const Duplicate comm;
  const auto communicator = mpi::Communicator::of(comm);
  for (int poor = 0; poor < world_size(); ++poor) {
    const auto prepare = [&](const std::shared_ptr<Graph>& graph) {
      CHECK(graph->neighborhood().takes_part());
      if (world_rank() == poor) throw std::bad_alloc();
    };
    const bool own = world_rank() == poor;
    CHECK_THROWS(own ? Fault::memory : Fault::elsewhere,
                 Graph::make(communicator, beside(-1), beside(1), read_settings(MPI_INFO_NULL),
                             std::nullopt, {std::ref(prepare), {}}),
                 own ? "not enough memory" : "rank " + std::to_string(poor) + " reports a fault");
    const Shifts shifts(comm, {1, -1}, few_regions(world_size()));
    Exchange(shifts, "aggregate").run(1);
  }
}

TEST(ranks_that_make_a_graph_hear_the_least_of_what_each_gives) {
  const Duplicate comm;
  std::array<std::int64_t, 2> least{100 - world_rank(), 7};
  const auto prepare = [&](const std::shared_ptr<Graph>&) { least[1] = world_rank(); };
  const auto graph =
      Graph::make(mpi::Communicator::of(comm), beside(-1), beside(1), read_settings(MPI_INFO_NULL),
                  std::nullopt, {std::ref(prepare), least});
  CHECK_EQUAL(least[0], 101 - world_size());
  CHECK_EQUAL(least[1], 0);
}

TEST(a_rank_without_memory_for_its_communicator_has_all_go_without) {
  for (int poor = 0; poor < world_size(); ++poor) {
    const Duplicate comm;
    const bool own = world_rank() == poor;
    GraphHandle graph;
    const std::vector<int> from{around(world_rank() - 1, world_size())},
        to{around(world_rank() + 1, world_size())};
    if (own) outcome_of_attributes = MPI_ERR_NO_MEM;
    const int code = create_graph(comm, from, to, MPI_INFO_NULL, &graph);
    outcome_of_attributes = MPI_SUCCESS;
    FAILS(own ? MPI_ERR_NO_MEM : MPI_ERR_OTHER, code,
          own ? "MPI_Comm_set_attr" : "failed on rank " + std::to_string(poor));
    CHECK(mpi::Communicator::known(comm) == nullptr);
    const Shifts shifts(comm, {1, -1}, few_regions(world_size()));
    Exchange(shifts, "aggregate").run(1);
  }
}

TEST(a_chore_without_memory_is_done_later) {
  const std::size_t before = mpi::chores_left();
  const auto polls = std::make_shared<std::atomic<int>>(0);
  mpi::leave_chore([polls] {
    if (++*polls == 1) throw std::bad_alloc();
    return true;
  });
  CHECK(mpi::chores_left() <= before + 1);
  for (int i = 0; i < 1000 && *polls < 2; ++i) mpi::do_chores(mpi::chores_left());
  CHECK_EQUAL(polls->load(), 2);
}

}  // namespace vicinal::poor_ranks_tests
