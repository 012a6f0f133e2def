// Tests region maps: every form, and every kind of malformed map.
#include "locality/machine.hpp"

#include <vector>

#include "check.hpp"

namespace vicinal::machine_tests {
namespace {

using Labels = std::vector<int>;

const DetectedPlaces places{{4, 4, 4, 9, 9}, {0, 0, 1, 2, 3}, {}};

TEST(machine_renumbers_by_lowest_rank) {
  const Machine machine({7, 3, 7, 0, 3}, {5, 5, 5, 1, 1});
  CHECK_EQUAL(machine.size(), 5);
  CHECK_EQUAL(machine.regions(), 3);
  CHECK_EQUAL(machine.hosts(), 2);
  const Labels expected{0, 1, 0, 2, 1};
  for (int rank = 0; rank < 5; ++rank) {
    CHECK_EQUAL(machine.region_of(rank), expected[static_cast<std::size_t>(rank)]);
  }
  const auto first = machine.members(0);
  CHECK((Labels(first.begin(), first.end()) == Labels{0, 2}));
  const auto second = machine.members(1);
  CHECK((Labels(second.begin(), second.end()) == Labels{1, 4}));
  CHECK_EQUAL(machine.members(2).size(), std::size_t{1});
  CHECK(machine.same_region(0, 2));
  CHECK(!machine.same_region(0, 1));
  CHECK(machine.same_host(0, 1));
  CHECK(!machine.same_host(2, 3));
}

TEST(machine_keeps_inner_regions_inside_outer_ones) {
  // Both labels count: inner label 1 occurs in both regions, and means a different region in each.
  const Machine machine({0, 0, 1, 1, 1}, {0, 0, 0, 0, 0}, {1, 2, 1, 2, 1});
  CHECK_EQUAL(machine.inner_region_of(2), machine.inner_region_of(4));
  CHECK(machine.inner_region_of(0) != machine.inner_region_of(1));
  CHECK(machine.inner_region_of(0) != machine.inner_region_of(2));
  CHECK(machine.inner_region_of(1) != machine.inner_region_of(3));
  CHECK(machine.inner_region_of(2) != machine.inner_region_of(3));
}

TEST(region_pairs_are_dealt_out_and_share_a_host_as_a_whole) {
  // A rank on another host: in region 0 the middle one, in region 1 the last one, in region 2 none.
  const Machine machine({0, 0, 0, 1, 1, 2, 2, 2}, {4, 5, 4, 4, 5, 5, 5, 5});
  CHECK(!share_a_host(machine, 0));
  CHECK(!share_a_host(machine, 1));
  CHECK(share_a_host(machine, 2));
  CHECK_EQUAL(leader(machine, 0, 1), 1);
  CHECK_EQUAL(leader(machine, 0, 2), 2);
  CHECK_EQUAL(leader(machine, 1, 2), 3);
  CHECK_EQUAL(leader(machine, 2, 1), 6);
  CHECK_EQUAL(region_leader(machine, 1), 3);
}

TEST(machine_of_no_ranks) {
  const Machine machine({}, {});
  CHECK_EQUAL(machine.size(), 0);
  CHECK_EQUAL(machine.regions(), 0);
}

TEST(machine_refuses_bad_labels) {
  CHECK_THROWS(Fault::topology, Machine({0, 0}, {0}), "regions for 2 ranks but hosts for 1");
  CHECK_THROWS(Fault::topology, Machine({0, -1}, {0, 0}), "rank 1 has the region label -1");
  CHECK_THROWS(Fault::topology, Machine({0, 0}, {-3, 0}), "rank 0 has the host label -3");
}

TEST(regions_of_every_form) {
  CHECK(read_regions("node", places) == places.node_of);
  CHECK(read_regions("numa", places) == places.numa_of);
  CHECK((read_regions("blocks:2", places) == Labels{0, 0, 1, 1, 2}));
  CHECK((read_regions("blocks:100", places) == Labels{0, 0, 0, 0, 0}));
  CHECK((read_regions("round-robin:2", places) == Labels{0, 1, 0, 1, 0}));
  CHECK((read_regions("round-robin:100", places) == Labels{0, 1, 2, 3, 4}));
  CHECK((read_regions("list:3,1,1,3,2000000000", places) == Labels{3, 1, 1, 3, 2000000000}));
}

void refused(const char* text, const char* part) {
  CHECK_THROWS(Fault::topology, read_regions(text, places), part);
  CHECK_THROWS(Fault::topology, read_regions(text, places), '"' + std::string(text) + '"');
}

TEST(regions_refuse_everything_else) {
  refused("", "expected one of: 'node', 'numa', 'blocks:K'");
  refused("nodes", "is not known");
  refused("NODE", "is not known");
  refused("node:", "is not known");
  refused(" node", "is not known");
  refused("blocks", "is not known");
  refused("blocks:", "no positive whole number");
  refused("blocks:0", "no positive whole number");
  refused("blocks:-2", "no positive whole number");
  refused("blocks:2x", "\"2x\"");
  refused("blocks: 2", "\" 2\"");
  refused("blocks:99999999999", "no positive whole number");
  refused("round-robin:0", "no positive whole number");
  refused("list:", "entry 0, \"\"");
  refused("list:0,0,1,", "entry 3, \"\"");
  refused("list:0,0,-1,0,0", "entry 2, \"-1\"");
  refused("list:0,0,1", "has 3 labels, but the communicator has 5 ranks");
  refused("list:0,0,1,1,1,1", "has 6 labels");
  refused("list:0, 0,1,1,1", "entry 1, \" 0\"");
}

}  // namespace
}  // namespace vicinal::machine_tests
