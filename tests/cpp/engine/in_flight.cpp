// Many plans may be started in any order on each rank, over several graphs of one communicator.
// Each plan has its own tags and slots.
#include <algorithm>
#include <deque>
#include <numeric>

#include "world.hpp"

namespace vicinal::in_flight_tests {
namespace {

using namespace testing;

/// Returns 0, 1, ... in an order that differs by rank and round.
std::vector<std::size_t> shuffled(std::size_t count, int rank, int round) {
  std::vector<std::size_t> order(count);
  std::iota(order.begin(), order.end(), std::size_t{0});
  const auto shift = static_cast<std::size_t>(rank + round) % count;
  std::rotate(order.begin(), order.begin() + static_cast<std::ptrdiff_t>(shift), order.end());
  if ((rank * 5 + round) % 2 == 1) std::reverse(order.begin(), order.end());
  return order;
}

int rounds_for(int few_ranks) { return world_size() <= 4 ? few_ranks : few_ranks / 5; }

/// Each rank owns four indices, and needs some of the next two ranks' indices.
struct HaloCase {
  std::int64_t rank;
  std::int64_t size;
  std::vector<std::int64_t> needed;
  HaloHandle halo;

  HaloCase(MPI_Comm comm, MPI_Info info) : rank(rank_in(comm)), size(size_of(comm)) {
    for (const std::int64_t ahead : {2, 1}) {
      const std::int64_t owner = (rank + ahead) % size;
      for (const std::int64_t i : {3, 0, 2}) needed.push_back(owner * 4 + i);
    }
    SUCCEEDS(vicinal_halo_create(comm, rank * 4, rank * 4 + 4,
                                 static_cast<std::int64_t>(needed.size()), needed.data(), info,
                                 &halo));
  }
  std::vector<std::int64_t> owned(int round) const {
    std::vector<std::int64_t> values;
    for (std::int64_t i = 0; i < 4; ++i) values.push_back((rank * 4 + i) * 1000 + round);
    return values;
  }
  std::vector<std::int64_t> ghosts(int round) const {
    std::vector<std::int64_t> values;
    for (const std::int64_t index : needed) values.push_back(index * 1000 + round);
    return values;
  }
};

}  // namespace

TEST(plans_of_two_graphs_run_in_any_order) {
  const Duplicate comm;
  const Shifts near(comm, {1, -1, 2}, few_regions(world_size()), 1);
  const Shifts far(comm, {3, 0, 5, 3}, "round-robin:2", 2);
  std::deque<Exchange> exchanges;
  exchanges.emplace_back(near, "aggregate");
  exchanges.emplace_back(far, "split");
  exchanges.emplace_back(near, "direct");
  exchanges.emplace_back(far, "two-step");
  exchanges.emplace_back(near, "aggregate", "messages");
  const int rank = world_rank();
  for (int round = 1; round <= rounds_for(100); ++round) {
    for (const std::size_t i : shuffled(exchanges.size(), rank, round)) exchanges[i].start(round);
    for (const std::size_t i : shuffled(exchanges.size(), rank, 3 * round + 1)) {
      exchanges[i].wait();
    }
  }
}

TEST(waitany_finds_each_request_once) {
  const Duplicate comm;
  const Shifts shifts(comm, {1, 2, -3}, few_regions(world_size()));
  std::deque<Exchange> exchanges;
  for (const char* strategy : {"aggregate", "direct", "two-step"}) {
    exchanges.emplace_back(shifts, strategy);
  }
  for (int round = 1; round <= rounds_for(50); ++round) {
    std::vector<vicinal_request> requests{VICINAL_REQUEST_NULL};
    for (const Exchange& exchange : exchanges) requests.push_back(exchange.handle());
    for (const std::size_t i : shuffled(exchanges.size(), world_rank(), round)) {
      exchanges[i].start(round);
    }
    std::vector<int> found;
    while (true) {
      int index = -1;
      SUCCEEDS(vicinal_waitany(static_cast<int>(requests.size()), requests.data(), &index));
      if (index == MPI_UNDEFINED) break;
      exchanges[static_cast<std::size_t>(index - 1)].verify();
      found.push_back(index);
    }
    std::sort(found.begin(), found.end());
    CHECK(found == (std::vector<int>{1, 2, 3}));
  }
  int index = -1;
  SUCCEEDS(vicinal_waitany(0, nullptr, &index));
  CHECK_EQUAL(index, MPI_UNDEFINED);
}

TEST(test_completes_without_wait) {
  const Duplicate comm;
  const Shifts shifts(comm, {1, 2, -3}, few_regions(world_size()));
  Exchange exchange(shifts, "aggregate");
  vicinal_request request = exchange.handle();
  int done = 0;
  SUCCEEDS(vicinal_test(&request, &done));  // inactive
  CHECK_EQUAL(done, 1);
  for (int round = 1; round <= 10; ++round) {
    exchange.start(round);
    for (done = 0; done == 0;) {
      SUCCEEDS(vicinal_test(&request, &done));
      SUCCEEDS(vicinal_progress());
    }
    exchange.verify();
  }
  SUCCEEDS(vicinal_wait(&request));  // inactive again
}

TEST(a_halo_runs_as_many_exchanges_as_it_was_made_for) {
  const Duplicate comm;
  constexpr int most = 3;
  const Hints hints{{"vicinal_in_flight", "3"},
                    {"vicinal_strategy", "aggregate"},
                    {"vicinal_regions", few_regions(world_size())}};
  HaloCase test(comm, hints);
  for (int round = 0; round < rounds_for(50); ++round) {
    std::vector<std::vector<std::int64_t>> owned, ghosts, sums, back;
    std::vector<vicinal_request> forward(most), reverse(most);
    for (int k = 0; k < most; ++k) {
      const int stamp = round * most + k;
      owned.push_back(test.owned(stamp));
      ghosts.emplace_back(test.needed.size(), -1);
      sums.emplace_back(4, 0);
      back.push_back(test.ghosts(stamp));
    }
    for (std::size_t k = 0; k < most; ++k) {
      SUCCEEDS(vicinal_halo_start(test.halo, owned[k].data(), ghosts[k].data(), 1, MPI_INT64_T,
                                  &forward[k]));
      SUCCEEDS(vicinal_halo_reverse_start(test.halo, sums[k].data(), back[k].data(), 1, MPI_INT64_T,
                                          MPI_SUM, &reverse[k]));
    }
    vicinal_request one_more = VICINAL_REQUEST_NULL;
    FAILS(
        MPI_ERR_REQUEST,
        vicinal_halo_start(test.halo, owned[0].data(), ghosts[0].data(), 1, MPI_INT64_T, &one_more),
        "vicinal_in_flight");
    FAILS(MPI_ERR_REQUEST,
          vicinal_halo_reverse_start(test.halo, sums[0].data(), back[0].data(), 1, MPI_INT64_T,
                                     MPI_SUM, &one_more),
          "vicinal_in_flight");
    CHECK(one_more == VICINAL_REQUEST_NULL);
    for (const std::size_t k : shuffled(most, world_rank(), round)) {
      SUCCEEDS(vicinal_wait(&forward[k]));
      SUCCEEDS(vicinal_wait(&reverse[k]));
      CHECK(forward[k] == VICINAL_REQUEST_NULL);
      const int stamp = round * most + static_cast<int>(k);
      CHECK(ghosts[k] == test.ghosts(stamp));
      // Two ranks need indices 0, 2 and 3: the previous one, and the one before it.
      for (const std::size_t i : {0U, 2U, 3U}) CHECK_EQUAL(sums[k][i], 2 * owned[k][i]);
      CHECK_EQUAL(sums[k][1], 0);
    }
  }
}

TEST(halo_values_may_change_their_shape) {
  const Duplicate comm;
  HaloCase test(comm, Hints{{"vicinal_regions", few_regions(world_size())}});
  for (int round = 0; round < 12; ++round) {
    const std::int64_t values = round % 3 + 1;
    const auto plain = test.owned(round);
    std::vector<std::int64_t> owned, expected;
    for (const std::int64_t value : plain) {
      for (std::int64_t v = 0; v < values; ++v) owned.push_back(value * 8 + v);
    }
    for (const std::int64_t value : test.ghosts(round)) {
      for (std::int64_t v = 0; v < values; ++v) expected.push_back(value * 8 + v);
    }
    std::vector<std::int64_t> ghosts(expected.size(), -1);
    SUCCEEDS(vicinal_halo_exchange(test.halo, owned.data(), ghosts.data(), values, MPI_INT64_T));
    CHECK(ghosts == expected);
  }
}

}  // namespace vicinal::in_flight_tests
