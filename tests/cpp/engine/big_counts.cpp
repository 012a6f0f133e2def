// Counts on one rank that exceed memory, or whose bytes exceed 64 bits. The rank fails, as do all
// ranks that wait for it. The next call on the graph or communicator succeeds. Nothing so large is
// ever allocated or touched.
#include <string>
#include <utility>
#include <vector>

#include "world.hpp"

namespace vicinal::big_counts_tests {
namespace {

using namespace testing;

// In elements of 8 bytes and more:
constexpr MPI_Count beyond_memory = MPI_Count{1} << 45;    ///< more than the address space holds
constexpr MPI_Count beyond_messages = MPI_Count{1} << 50;  ///< more than any message holds
constexpr MPI_Count far_beyond_memory = MPI_Count{1} << 58;
constexpr MPI_Count beyond_numbers = MPI_Count{1} << 60;  ///< more bytes than 64 bits count

void need_failing_allocations() {
#if defined(SANITIZED)
  skip("the address sanitizer ends who asks for too much memory");
#endif
}

/// Two numbers with a gap between them, which needs packing.
class Gaps {
 public:
  Gaps() {
    MPI_Type_vector(2, 1, 3, MPI_DOUBLE, &type_);
    MPI_Type_commit(&type_);
  }
  Gaps(const Gaps&) = delete;
  Gaps& operator=(const Gaps&) = delete;
  ~Gaps() { MPI_Type_free(&type_); }
  operator MPI_Datatype() const { return type_; }

 private:
  MPI_Datatype type_ = MPI_DATATYPE_NULL;
};

/// All ranks; the last one fails.
struct Ranks {
  int rank = world_rank();
  int size = world_size();
  int next = around(rank + 1, size);
  int last = around(rank - 1, size);
  bool failed = rank == size - 1;
  Gaps gaps;
  /// Send data lie before receive data, so that an oversized receive block does not overlap them.
  std::vector<double> data = std::vector<double>(4 + 2 * static_cast<std::size_t>(size), -1.0);

  Ranks() {
    data[0] = rank;
    data[3] = rank + 0.5;
  }
  const double* sent() const { return data.data(); }
  double* received() { return data.data() + 4; }
  /// Checks the received data, and resets them.
  void verify(int block, int from) {
    for (int i = 0; i < 2; ++i) {
      CHECK_EQUAL(std::exchange(received()[2 * block + i], -1.0), from + 0.5 * i);
    }
  }
  /// Checks the code: the failed rank reports its own error, and a rank that `waits` for it fails.
  /// Other ranks may fail.
  void told(int code, bool waits) const {
    if (failed) {
      CHECK(code == MPI_ERR_NO_MEM || code == MPI_ERR_COUNT || code == MPI_ERR_BUFFER);
    } else if (waits) {
      CHECK(code != MPI_SUCCESS);
    }
  }
};

/// A ring in which each rank sends two numbers to the next one.
struct Ring : Ranks {
  Duplicate comm;
  GraphHandle graph;

  explicit Ring(const std::string& strategy) {
    SUCCEEDS(create_graph(
        comm, {last}, {next},
        Hints{{"vicinal_strategy", strategy}, {"vicinal_regions", few_regions(size)}}, &graph));
  }
  int plan(MPI_Count send, MPI_Datatype send_type, MPI_Count receive, vicinal_request* request) {
    const MPI_Aint place = 0;
    return vicinal_neighbor_alltoallv_init_c(sent(), &send, &place, send_type, received(), &receive,
                                             &place, MPI_DOUBLE, graph, MPI_INFO_NULL, request);
  }
  int alltoall(MPI_Count count = 1) {
    return vicinal_neighbor_alltoall_c(sent(), count, gaps, received(), 2 * count, MPI_DOUBLE,
                                       graph);
  }
  int alltoallv(MPI_Count count = 1) {
    const MPI_Count two = 2;
    const MPI_Aint place = 0;
    return vicinal_neighbor_alltoallv_c(sent(), &count, &place, gaps, received(), &two, &place,
                                        MPI_DOUBLE, graph);
  }
  /// Checks that correct calls succeed in all forms.
  void verify_next_calls() {
    SUCCEEDS(alltoall());
    verify(0, last);
    SUCCEEDS(alltoallv());
    verify(0, last);
    RequestHandle request;
    SUCCEEDS(plan(1, gaps, 2, &request));
    SUCCEEDS(vicinal_start(&request));
    SUCCEEDS(vicinal_wait(&request));
    verify(0, last);
  }
};

constexpr auto strategies = {"direct", "aggregate", "automatic"};

}  // namespace

TEST(planning_with_a_count_beyond_memory_on_one_rank) {
  need_failing_allocations();
  for (const char* strategy : strategies) {
    Ring ring(strategy);
    for (const MPI_Count count : {beyond_memory, far_beyond_memory, beyond_numbers}) {
      RequestHandle request;
      for (const bool with_gaps : {true, false}) {
        const MPI_Datatype type = with_gaps ? MPI_Datatype{ring.gaps} : MPI_DOUBLE;
        // All ranks get the plan, or none does. A dense type needs no memory, but its count differs
        // from the other end's.
        const int code = ring.plan(ring.failed ? count : with_gaps ? 1 : 2, type, 2, &request);
        CHECK(code != MPI_SUCCESS);
        if (with_gaps && count != beyond_numbers) ring.told(code, true);
      }
      CHECK(ring.plan(1, ring.gaps, ring.failed ? count : 2, &request) != MPI_SUCCESS);
      CHECK(static_cast<vicinal_request>(request) == VICINAL_REQUEST_NULL);
      ring.verify_next_calls();
    }
  }
}

TEST(executing_with_counts_beyond_memory_that_all_agree_on) {
  need_failing_allocations();
  if (world_size() < 2) skip("needs 2 ranks");
  for (const char* strategy : strategies) {
    Ring ring(strategy);
    RequestHandle request;
    int code = ring.plan(beyond_messages, MPI_DOUBLE, beyond_messages, &request);
    if (code == MPI_SUCCESS) code = vicinal_start(&request);
    if (code == MPI_SUCCESS) code = vicinal_wait(&request);
    CHECK(code != MPI_SUCCESS);
    ring.verify_next_calls();
  }
}

TEST(blocks_beyond_memory_on_one_rank) {
  need_failing_allocations();
  for (const char* strategy : strategies) {
    for (const bool first : {true, false}) {
      Ring ring(strategy);
      if (!first) ring.verify_next_calls();
      for (const MPI_Count count : {beyond_memory, far_beyond_memory, beyond_numbers}) {
        const bool waits = ring.last == ring.size - 1;
        ring.told(ring.alltoall(ring.failed ? count : 1), waits);
        ring.verify_next_calls();
        // This call sends one message per edge.
        ring.told(ring.alltoallv(ring.failed ? far_beyond_memory : 1), waits);
        ring.verify_next_calls();
      }
    }
  }
}

TEST(an_allgather_beyond_memory) {
  need_failing_allocations();
  for (const bool on_all : {false, true}) {
    Ranks ranks;
    const Duplicate comm;
    SUCCEEDS(vicinal_set_regions(comm, few_regions(ranks.size).c_str()));
    const auto call = [&](MPI_Count count) {
      return vicinal_allgather_c(ranks.sent(), count, ranks.gaps, ranks.received(), 2 * count,
                                 MPI_DOUBLE, comm);
    };
    const auto plan = [&](MPI_Count count, vicinal_request* request) {
      return vicinal_allgather_init_c(ranks.sent(), count, ranks.gaps, ranks.received(), 2 * count,
                                      MPI_DOUBLE, comm, MPI_INFO_NULL, request);
    };
    const auto verify = [&] {
      for (int from = 0; from < ranks.size; ++from) ranks.verify(from, from);
    };
    const MPI_Count count = on_all || ranks.failed ? beyond_memory : 1;
    for (int round = 0; round < 3; ++round) {
      ranks.told(call(count), true);
      SUCCEEDS(call(1));
      verify();
      RequestHandle bad, good;
      ranks.told(plan(count, &bad), true);
      SUCCEEDS(plan(1, &good));
      SUCCEEDS(vicinal_start(&good));
      SUCCEEDS(vicinal_wait(&good));
      verify();
    }
  }
}

TEST(halos_of_more_indices_than_memory_holds_on_one_rank) {
  need_failing_allocations();
  const Ranks ranks;
  const Duplicate comm;
  const Hints hints{{"vicinal_regions", few_regions(ranks.size)}};
  const std::int64_t own = ranks.rank, wanted = ranks.next;
  for (const MPI_Count count : {beyond_memory, far_beyond_memory, beyond_numbers}) {
    const std::int64_t here = ranks.failed ? count : 1;
    HaloHandle halo;
    ranks.told(vicinal_halo_create(comm, own, own + 1, here, &wanted, hints, &halo), true);
    ranks.told(vicinal_halo_create_indexed(comm, 1, &own, here, &wanted, hints, &halo), true);
    ranks.told(vicinal_halo_create_indexed(comm, here, &own, 1, &wanted, hints, &halo), true);
    ranks.told(
        vicinal_halo_create_with_owners(comm, 1, &own, here, &wanted, &ranks.next, hints, &halo),
        true);
    CHECK(static_cast<vicinal_halo>(halo) == VICINAL_HALO_NULL);
    SUCCEEDS(vicinal_halo_create(comm, own, own + 1, 1, &wanted, hints, &halo));
    const double value = ranks.rank + 0.25;
    double ghost = -1;
    SUCCEEDS(vicinal_halo_exchange(halo, &value, &ghost, 1, MPI_DOUBLE));
    CHECK_EQUAL(ghost, ranks.next + 0.25);
  }
}

TEST(more_values_per_index_than_memory_holds_on_one_rank) {
  need_failing_allocations();
  const Ranks ranks;
  if (ranks.size < 2) skip("needs 2 ranks");
  const Duplicate comm;
  const std::int64_t own = ranks.rank, wanted = ranks.next;
  for (const char* regions : {"blocks:1", "blocks:2"}) {
    HaloHandle halo;
    const Hints hints{{"vicinal_regions", regions}};
    SUCCEEDS(vicinal_halo_create(comm, own, own + 1, 1, &wanted, hints, &halo));
    for (int round = 0; round < 12; ++round) {  // each channel with and without a fault
      const std::int64_t too_many = round % 2 == 0 ? beyond_messages : 2 * beyond_numbers;
      const std::int64_t values = round % 3 == 0 && ranks.failed ? too_many : 1;
      double value = ranks.rank + 0.25 + round, ghost = -1;
      const int code = vicinal_halo_exchange(halo, &value, &ghost, values, MPI_DOUBLE);
      if (round % 3 == 0) ranks.told(code, wanted == ranks.size - 1);
      if (round % 3 == 0) continue;
      SUCCEEDS(code);
      CHECK_EQUAL(ghost, ranks.next + 0.25 + round);
    }
  }
}

}  // namespace vicinal::big_counts_tests
