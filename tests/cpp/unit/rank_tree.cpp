// Tests that the first level of the tree of an agreement stays on a host.
#include "negotiate/rank_tree.hpp"

#include <vector>

#include "check.hpp"

namespace vicinal::rank_tree_tests {
namespace {

/// Returns a machine with these numbers of consecutive ranks per host.
Machine machine(const std::vector<int>& ranks) {
  std::vector<int> host_of;
  for (std::size_t host = 0; host < ranks.size(); ++host) {
    host_of.insert(host_of.end(), static_cast<std::size_t>(ranks[host]), static_cast<int>(host));
  }
  return {host_of, host_of};
}

int smallest(const std::vector<int>& ranks) { return blocks_of(machine(ranks)).smallest; }

}  // namespace

TEST(the_smallest_blocks_are_hosts_that_are_alike) {
  CHECK_EQUAL(smallest({4, 4, 4}), 4);
  CHECK_EQUAL(smallest({12, 12, 5}), 12);  // the last host may be smaller
  CHECK_EQUAL(smallest({48, 48}), 48);
  CHECK_EQUAL(smallest({96, 96}), 48);  // at most 64 ranks report to one
  CHECK_EQUAL(smallest({67, 67}), 8);   // a prime number
  CHECK_EQUAL(smallest({3, 4, 4}), 8);
  CHECK_EQUAL(smallest({1, 1, 1}), 8);
  CHECK_EQUAL(blocks_of(Machine({0, 1, 0, 1}, {0, 1, 0, 1})).smallest, 8);
}

TEST(only_the_lowest_rank_of_a_host_talks_to_other_hosts) {
  for (const int per_host : {2, 4, 6, 16, 48}) {
    const int size = 11 * per_host;
    const Machine all = machine(std::vector<int>(11, per_host));
    int children = 0;
    for (int rank = 0; rank < size; ++rank) {
      const RankTree tree = whole_tree(rank, size, blocks_of(all));
      children += static_cast<int>(tree.children.size());
      for (const RankTree::Child& child : tree.children) {
        CHECK(all.same_host(rank, child.rank) || child.rank % per_host == 0);
        CHECK_EQUAL(whole_tree(child.rank, size, blocks_of(all)).parent, rank);
      }
      CHECK((tree.parent < 0) == (rank == 0));
    }
    CHECK_EQUAL(children, size - 1);
  }
}

}  // namespace vicinal::rank_tree_tests
