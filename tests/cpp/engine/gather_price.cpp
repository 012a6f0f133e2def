// Prices: conditions under which a planned allgather over all ranks should beat MPI's own.
#include "collectives/gather_price.hpp"

#include <vector>

#include "world.hpp"

namespace vicinal::gather_price_tests {
namespace {

using namespace testing;

GatherPrice priced(int regions, int ranks_each, std::int64_t bytes) {
  std::vector<int> labels;
  for (int rank = 0; rank < regions * ranks_each; ++rank) labels.push_back(rank / ranks_each);
  const Machine machine(labels, labels);
  return price_of_gather(machine, {}, std::vector<std::int64_t>(labels.size(), bytes));
}

TEST(gathers_of_small_blocks_among_hosts_pay) {
  CHECK(priced(4, 8, 8).pays());
  CHECK(priced(64, 32, 8).pays());
}

TEST(gathers_of_hosts_with_a_rank_each_do_not_pay) {
  for (const std::int64_t bytes : {8, 1024, 1 << 20}) {
    const GatherPrice price = priced(8, 1, bytes);
    CHECK(!price.pays());
    CHECK(price.by_plan > 0 && price.by_mpi > 0);
  }
}

}  // namespace
}  // namespace vicinal::gather_price_tests
