// Blocking and nonblocking calls on GPU buffers, with the driver double. Some send one message per
// edge; those with counts later use a plan with capacities. Send data are copied to the host first,
// received data are copied back.
#include <string>
#include <vector>

#include "counted_calls.hpp"
#include "memory/bounce_buffer.hpp"
#include "unreachable_exchanges.hpp"
#include "users_stream.hpp"

namespace vicinal::device_calls_tests {
namespace {

using namespace testing;
using counted::Circle;
using counted::random_size;

/// Returns whether an exchange may combine GPU and host memory. It may not where the tests treat
/// host memory as another GPU's.
bool host_is_reachable() {
  const int here = 0;
  return kind_of(&here).is_reachable();
}

/// Runs calls in a loop, directly and later by a plan. Both sides lie in `memory`, or one of them.
void run_loop_on(MemoryKind& memory, const char* strategy, counted::Form form) {
  const Circle circle(strategy);
  for (int number = 0; number < 24; ++number) {
    counted::Call call(circle, form, number, random_size);
    const int which = host_is_reachable() ? number % 3 : 0;
    call.move_to(which == 1 ? nullptr : &memory, which == 2 ? nullptr : &memory);
    SUCCEEDS(call.run());
    call.verify();
  }
}

/// A graph in which each rank has two edges to itself, and one to the next rank.
struct WithOwnEdges {
  int rank = world_rank();
  int size = world_size();
  Duplicate comm;
  GraphHandle graph;

  WithOwnEdges() {
    SUCCEEDS(create_graph(comm, {rank, around(rank - 1, size), rank},
                          {rank, rank, around(rank + 1, size)},
                          Hints{{"vicinal_strategy", "direct"}}, &graph));
  }

  /// Data sent along the edges; expected() returns the data received.
  [[nodiscard]] std::vector<std::int64_t> sent() const {
    return {rank * 10 + 1, rank * 10 + 2, rank * 10 + 3};
  }
  [[nodiscard]] std::vector<std::int64_t> expected() const {
    if (size == 1) return sent();
    return {rank * 10 + 1, around(rank - 1, size) * 10 + 3, rank * 10 + 2};
  }
};

/// Makes driver call number `ahead` fail on rank 0, and returns whether rank 0 reached it. No rank
/// is left waiting, and the next call succeeds.
bool call_with_a_failure(const DriverDouble& gpu, const char* strategy, int warm, long ahead) {
  const long held = gpu.held();
  bool came_to_it = false;
  {
    const Circle circle(strategy);
    const auto run = [&](int number) {
      counted::Call call(circle, counted::Form::alltoallv, number, random_size);
      call.move_to(&gpu.memory(), &gpu.memory());
      const long at = gpu.get("calls") + ahead;
      const bool fails = circle.rank == 0 && number == warm;
      if (fails) gpu.set("fail_at", at);
      const int error = number % 2 == 0 ? call.run() : call.begin();
      const int later =
          number % 2 == 0 || error != MPI_SUCCESS ? error : vicinal_wait(&call.request);
      gpu.set("fail_at", 0);
      if (fails) came_to_it = gpu.get("calls") >= at;
      if (number != warm) CHECK_EQUAL(later, MPI_SUCCESS);
      if (fails && later != MPI_SUCCESS) {
        CHECK(later == MPI_ERR_NO_MEM || later == MPI_ERR_OTHER);
        CHECK(std::string(vicinal_error_message()).find(" has failed with ") != std::string::npos);
      } else if (later != MPI_SUCCESS) {
        CHECK_EQUAL(later, MPI_ERR_OTHER);
      }
      meet(circle.comm);
      if (later == MPI_SUCCESS) call.verify();
    };
    for (int number = 0; number < warm + 3; ++number) run(number);
  }
  settle(gpu, held);
  CHECK_EQUAL(gpu.get("misuses"), 0);
  MPI_Bcast(&came_to_it, 1, MPI_C_BOOL, 0, MPI_COMM_WORLD);
  return came_to_it;
}

}  // namespace

TEST(counted_calls_of_device_memory) {
  for (const char* const path : {DRIVER_DOUBLE_CUDA, DRIVER_DOUBLE_HIP}) {
    const DriverDouble gpu(path);
    const long held = gpu.held();
    for (const char* const strategy : {"aggregate", "automatic", "direct"}) {
      for (const counted::Form form : counted::forms) run_loop_on(gpu.memory(), strategy, form);
    }
    settle(gpu, held);
    CHECK_EQUAL(gpu.get("misuses"), 0);
  }
}

TEST(counted_calls_of_device_memory_without_kernels) {
  const DriverDouble gpu;
  gpu.set("no_compiler", 1);
  const long launches = gpu.get("launches");
  run_loop_on(gpu.memory(), "aggregate", counted::Form::alltoallw);
  if (host_is_reachable()) CHECK_EQUAL(gpu.get("launches"), launches);
  CHECK_EQUAL(gpu.get("misuses"), 0);
}

TEST(counted_calls_of_delayed_memory) {
  run_loop_on(delayed_memory(), "aggregate", counted::Form::alltoallv);
}

TEST(calls_of_device_memory_in_flight) {
  const DriverDouble gpu;
  for (const char* const strategy : {"aggregate", "direct"}) {
    const Circle circle(strategy);
    std::vector<counted::Call> calls;
    calls.reserve(40);
    for (int number = 0; number < 40; ++number) {
      calls.emplace_back(circle, counted::forms[number % 3], number, random_size);
      calls.back().move_to(&gpu.memory(), &gpu.memory());
      SUCCEEDS(calls.back().begin());
    }
    for (int i = 0; i < 40; ++i) {
      calls[static_cast<std::size_t>((i * 7 + circle.rank * 3) % 40)].wait();
    }
  }
  CHECK_EQUAL(gpu.get("misuses"), 0);
}

TEST(a_call_of_device_memory_that_has_begun_needs_this_rank_no_more) {
  // The root completes its call while the other ranks block inside MPI.
  const DriverDouble gpu;
  const Circle circle("direct");
  for (int root = 0; root < circle.size; ++root) {
    counted::Call call(circle, counted::Form::alltoallv, root, random_size);
    call.move_to(&gpu.memory(), &gpu.memory());
    SUCCEEDS(call.begin());
    if (circle.rank == root) call.wait();
    MPI_Barrier(MPI_COMM_WORLD);
    if (circle.rank != root) call.wait();
  }
}

TEST(edges_of_device_memory_to_oneself) {
  for (const char* const path : {DRIVER_DOUBLE_CUDA, DRIVER_DOUBLE_HIP}) {
    const DriverDouble gpu(path);
    const WithOwnEdges it;
    const std::vector<int> counts{1, 1, 1}, places{0, 1, 2};
    for (int round = 0; round < 12; ++round) {
      const DeviceArray send(gpu.memory(), it.sent()),
          receive(gpu.memory(), repeated(3, untouched));
      RequestHandle request;
      SUCCEEDS(vicinal_ineighbor_alltoall(send.data(), 1, MPI_INT64_T, receive.data(), 1,
                                          MPI_INT64_T, it.graph, &request));
      SUCCEEDS(vicinal_wait(&request));
      CHECK(receive.values() == it.expected());
      // A message that exceeds its buffer fails at once.
      std::vector<int> more{1, 1, 2};
      const int error = vicinal_neighbor_alltoallv(send.data(), counts.data(), places.data(),
                                                   MPI_INT64_T, receive.data(), more.data(),
                                                   places.data(), MPI_INT64_T, it.graph);
      CHECK_EQUAL(error, MPI_ERR_COUNT);
    }
    CHECK_EQUAL(gpu.get("misuses"), 0);
  }
}

TEST(only_what_comes_is_written_to_device_memory) {
  const DriverDouble gpu;
  const Circle circle("direct");
  for (int round = 0; round < 10; ++round) {
    // Blocks of two values with a gap between them; the last edge's block is empty.
    const std::vector<int> counts{2, 2, 0}, places{1, 5, 0};
    const int rank = circle.rank;
    auto values = repeated(8, -1);
    for (const int i : {1, 2, 5, 6}) values[static_cast<std::size_t>(i)] = rank * 100 + i;
    const DeviceArray send(gpu.memory(), values), receive(gpu.memory(), repeated(8, untouched));
    SUCCEEDS(vicinal_neighbor_alltoallv(send.data(), counts.data(), places.data(), MPI_INT64_T,
                                        receive.data(), counts.data(), places.data(), MPI_INT64_T,
                                        circle.graph));
    auto expected = repeated(8, untouched);
    for (const int i : {1, 2, 5, 6}) {
      expected[static_cast<std::size_t>(i)] = around(rank - 1, circle.size) * 100 + i;
    }
    CHECK(receive.values() == expected);
  }
}

TEST(pieces_of_device_memory_by_their_addresses) {
  if (!host_is_reachable()) skip("needs the host's memory");
  // Displacements are addresses relative to MPI_BOTTOM. Each piece is an allocation of its own, one
  // of them on the host.
  const DriverDouble gpu;
  const Circle circle("direct");
  const std::vector<int> counts{2, 2, 2};
  const std::vector<MPI_Datatype> types(3, MPI_INT64_T);
  for (int round = 0; round < 10; ++round) {
    const int rank = circle.rank;
    std::vector<std::int64_t> here = numbers(2, rank * 10);
    const DeviceArray second(gpu.memory(), numbers(2, rank * 10 + 2)),
        third(gpu.memory(), numbers(2, rank * 10 + 4));
    std::vector<std::int64_t> to = repeated(2, untouched);
    const DeviceArray to_second(gpu.memory(), repeated(2, untouched)),
        to_third(gpu.memory(), repeated(2, untouched));
    const auto at = [](const std::int64_t* value) {
      MPI_Aint address = 0;
      MPI_Get_address(value, &address);
      return address;
    };
    const std::vector<MPI_Aint> from_places{at(here.data()), at(second.data()), at(third.data())};
    const std::vector<MPI_Aint> to_places{at(to.data()), at(to_second.data()), at(to_third.data())};
    SUCCEEDS(vicinal_neighbor_alltoallw(MPI_BOTTOM, counts.data(), from_places.data(), types.data(),
                                        MPI_BOTTOM, counts.data(), to_places.data(), types.data(),
                                        circle.graph));
    const int last = around(rank - 1, circle.size), before = around(rank - 2, circle.size);
    CHECK(to == numbers(2, last * 10));
    CHECK(to_second.values() == numbers(2, last * 10 + 2));
    CHECK(to_third.values() == numbers(2, before * 10 + 4));
  }
  CHECK_EQUAL(gpu.get("misuses"), 0);
}

TEST(alltoallv_of_device_memory_in_place) {
  if (!host_is_reachable()) skip("needs the host's memory");
  const DriverDouble gpu;
  const int size = world_size(), rank = world_rank();
  const Duplicate comm;
  std::vector<int> counts, places;
  for (int peer = 0; peer < size; ++peer) {
    counts.push_back(1 + (rank + peer) % 3);
    places.push_back(peer == 0 ? 0 : places.back() + counts[static_cast<std::size_t>(peer) - 1]);
  }
  const int all = places.back() + counts.back();
  for (int round = 0; round < 12; ++round) {
    std::vector<std::int64_t> values, expected;
    for (int peer = 0; peer < size; ++peer) {
      for (int i = 0; i < counts[static_cast<std::size_t>(peer)]; ++i) {
        values.push_back(rank * 1000 + peer * 10 + i);
        expected.push_back(peer * 1000 + rank * 10 + i);
      }
    }
    CHECK_EQUAL(static_cast<int>(values.size()), all);
    const DeviceArray there(gpu.memory(), values);
    if (round % 2 == 0) {
      SUCCEEDS(vicinal_alltoallv(MPI_IN_PLACE, nullptr, nullptr, MPI_DATATYPE_NULL, there.data(),
                                 counts.data(), places.data(), MPI_INT64_T, comm));
    } else {
      RequestHandle request;
      SUCCEEDS(vicinal_ialltoallv(MPI_IN_PLACE, nullptr, nullptr, MPI_DATATYPE_NULL, there.data(),
                                  counts.data(), places.data(), MPI_INT64_T, comm, &request));
      SUCCEEDS(vicinal_wait(&request));
    }
    CHECK(there.values() == expected);
  }
  CHECK_EQUAL(gpu.get("misuses"), 0);
}

TEST(calls_of_two_devices_or_with_gaps_are_refused_and_the_next_is_not) {
  const DriverDouble gpu;
  const Circle circle("direct");
  const std::vector<int> counts{1, 1, 1}, places{0, 1, 2};
  MPI_Datatype gaps = MPI_DATATYPE_NULL;
  MPI_Type_vector(2, 1, 2, MPI_INT64_T, &gaps);
  MPI_Type_commit(&gaps);
  const DeviceArray one(gpu.memory(0), repeated(16, circle.rank)),
      same(gpu.memory(0), repeated(16, untouched)), other(gpu.memory(1), repeated(16, untouched));
  const auto call = [&](std::int64_t* target, MPI_Datatype type) {
    return vicinal_neighbor_alltoallv(one.data(), counts.data(), places.data(), type, target,
                                      counts.data(), places.data(), type, circle.graph);
  };
  FAILS(MPI_ERR_UNSUPPORTED_OPERATION, call(other.data(), MPI_INT64_T),
        "from CUDA device 0 to CUDA device 1 memory");
  FAILS(MPI_ERR_UNSUPPORTED_OPERATION, call(same.data(), gaps), "datatype with gaps");
  SUCCEEDS(call(same.data(), MPI_INT64_T));
  CHECK_EQUAL(same.values()[0], around(circle.rank - 1, circle.size));
  MPI_Type_free(&gaps);
}

TEST(a_call_comes_after_a_stream_that_is_followed) {
  for (const char* const path : {DRIVER_DOUBLE_CUDA, DRIVER_DOUBLE_HIP}) {
    const DriverDouble gpu(path);
    const Circle circle("direct");
    UsersStream users(gpu);
    const std::vector<int> counts{4, 4, 4}, places{0, 0, 0}, apart{0, 4, 8};
    for (int round = 1; round < 8; ++round) {
      const DeviceArray send(gpu.memory(), repeated(4, 0)),
          receive(gpu.memory(), repeated(12, untouched));
      users.fill(send, round);
      users.be_followed(send);
      SUCCEEDS(vicinal_neighbor_alltoallv(send.data(), counts.data(), places.data(), MPI_INT64_T,
                                          receive.data(), counts.data(), apart.data(), MPI_INT64_T,
                                          circle.graph));
      CHECK(receive.values() == repeated(12, round * std::int64_t{0x0101010101010101}));
      users.await();
    }
  }
}

TEST(calls_of_device_memory_in_a_loop_keep_what_they_have_had) {
  const DriverDouble gpu;
  const Circle circle("direct");
  counted::Call call(circle, counted::Form::alltoallv, 0, counted::constant_size);
  call.move_to(&gpu.memory(), &gpu.memory());
  const long pinned = gpu.get("pinned_blocks");
  for (int round = 0; round < 3; ++round) SUCCEEDS(call.run());
  const long held = gpu.held();
  for (int round = 0; round < 20; ++round) {
    SUCCEEDS(call.run());
    CHECK_EQUAL(gpu.held(), held);
  }
  // This holds for any number of concurrent calls.
  std::vector<counted::Call> calls;
  calls.reserve(30);
  for (int number = 0; number < 30; ++number) {
    calls.emplace_back(circle, counted::Form::alltoallv, number, counted::constant_size);
    calls.back().move_to(&gpu.memory(), &gpu.memory());
    SUCCEEDS(calls.back().begin());
  }
  for (counted::Call& each : calls) each.wait();
  calls.clear();
  // One more block holds the completion flags of the device's kernels.
  CHECK(gpu.get("pinned_blocks") <= pinned + 1 + static_cast<long>(BounceBufferPool::most_idle));
}

TEST(a_driver_that_fails_at_any_call_of_a_call_leaves_nobody_waiting) {
  // Otherwise the plan's own buffers lie on the device, too, and a failure may disable the plan
  // permanently.
  if (!host_is_reachable()) skip("needs the host's memory");
  const DriverDouble gpu;
  // Directly, from the first call on; then by a plan with capacities.
  for (const int warm : {0, 9}) {
    for (const char* const strategy : {"direct", "aggregate"}) {
      long ahead = 1;
      // Every call fails once with few ranks, and every third with many.
      while (call_with_a_failure(gpu, strategy, warm, ahead)) ahead += world_size() > 4 ? 3 : 1;
      CHECK(ahead > 10);
    }
  }
}

}  // namespace vicinal::device_calls_tests
