// Exchanges whose edges repeat items: plans that send each item once read fewer places than direct.
#include <vector>

#include "world.hpp"

namespace vicinal::repeated_items_tests {

using namespace testing;

// Each rank sends one value to all ranks, from as many places as there are edges. With the address
// sanitizer, a contender that reads beyond its scratch memory ends the test.
TEST(plans_are_measured_on_memory_for_all_places) {
  const Duplicate comm;
  const int rank = world_rank(), size = world_size();
  std::vector<int> all, ones(static_cast<std::size_t>(size), 1);
  for (int other = 0; other < size; ++other) all.push_back(other);
  const GraphHandle graph = graph_of(comm, all, all, few_regions(size));
  const std::vector<std::int64_t> sent(static_cast<std::size_t>(size), rank);
  const std::vector<std::int64_t> items(static_cast<std::size_t>(size), rank);
  std::vector<std::int64_t> received(static_cast<std::size_t>(size), -1);
  RequestHandle request;
  SUCCEEDS(vicinal_neighbor_alltoallv_items_init(
      sent.data(), ones.data(), all.data(), items.data(), MPI_INT64_T, received.data(), ones.data(),
      all.data(), MPI_INT64_T, graph, Hints{{"vicinal_choice", "measure"}}, &request));
  for (int round = 0; round < 3; ++round) {
    std::fill(received.begin(), received.end(), -1);
    SUCCEEDS(vicinal_start(&request));
    SUCCEEDS(vicinal_wait(&request));
    for (int other = 0; other < size; ++other) {
      CHECK_EQUAL(received[static_cast<std::size_t>(other)], std::int64_t{other});
    }
  }
}

}  // namespace vicinal::repeated_items_tests
