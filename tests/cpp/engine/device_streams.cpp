// Exchanges of GPU data for whose completion a user's stream waits instead of the host.
#include <chrono>
#include <cstring>
#include <vector>

#include "unreachable_exchanges.hpp"
#include "users_stream.hpp"

namespace vicinal::device_streams_tests {
namespace {

using namespace testing;

/// Rank 0 owns four numbers, which all other ranks need.
struct Given {
  int rank = world_rank();
  Duplicate comm;
  DeviceArray owned, into, later;
  HaloHandle halo;

  explicit Given(const DriverDouble& gpu, const char* strategy, const char* in_flight)
      : owned(gpu.memory(), numbers(4, 0)),
        into(gpu.memory(), repeated(4, untouched)),
        later(gpu.memory(), repeated(4, untouched)) {
    const auto needed = numbers(rank == 0 ? 0 : 4, 0);
    const Hints hints{{"vicinal_strategy", strategy},
                      {"vicinal_in_flight", in_flight},
                      {"vicinal_regions", "node"}};
    SUCCEEDS(vicinal_halo_create(comm, 0, rank == 0 ? 4 : 0,
                                 static_cast<std::int64_t>(needed.size()), needed.data(), hints,
                                 &halo));
  }
  Given(const Given&) = delete;
  Given& operator=(const Given&) = delete;
  /// Keeps exported memory until all ranks have freed the exchange.
  ~Given() {
    halo.free();
    MPI_Barrier(comm);
  }
  [[nodiscard]] vicinal_request start() {
    vicinal_request request = nullptr;
    SUCCEEDS(vicinal_halo_start(halo, owned.data(), into.data(), 1, MPI_INT64_T, &request));
    return request;
  }
};

}  // namespace

TEST(a_halo_has_persistent_requests) {
  const Duplicate comm;
  const Mesh mesh(comm, "automatic");
  HostArray owned(numbers(3, mesh.rank * 3)), into(repeated(mesh.ghosts(), untouched));
  HostArray sums(repeated(3, 0));
  RequestHandle request, back;
  SUCCEEDS(vicinal_halo_init(mesh.halo, owned.data(), into.data(), 1, MPI_INT64_T, &request));
  SUCCEEDS(vicinal_halo_reverse_init(mesh.halo, sums.data(), into.data(), 1, MPI_INT64_T, MPI_SUM,
                                     &back));
  for (int round = 0; round < 3; ++round) {
    for (int i = 0; i < 3; ++i) owned.data()[i] = mesh.rank * 3 + i + round;
    SUCCEEDS(vicinal_start(&request));
    {
      const Forgiving forgiving;
      // A single rank may complete it at once.
      int flag = 0;
      if (mesh.size > 1) SUCCEEDS(vicinal_test(&request, &flag));
      if (flag == 0) FAILS(MPI_ERR_REQUEST, vicinal_start(&request), "started again");
    }
    SUCCEEDS(vicinal_wait(&request));
    CHECK(request != nullptr);
    std::vector<std::int64_t> expected;
    for (const std::int64_t index : mesh.needed) expected.push_back(index + round);
    CHECK(into.values() == expected);
    for (int i = 0; i < 3; ++i) sums.data()[i] = 1;
    SUCCEEDS(vicinal_start(&back));
    SUCCEEDS(vicinal_wait(&back));
    for (int i = 0; i < 3; ++i) CHECK_EQUAL(sums.data()[i], 1 + 2 * owned.data()[i]);
  }
  const Forgiving forgiving;
  // All ranks learn of one rank's wrong argument.
  RequestHandle refused;
  CHECK(vicinal_halo_init(mesh.halo, owned.data(), into.data(), mesh.rank == 0 ? -1 : 1,
                          MPI_INT64_T, &refused) != MPI_SUCCESS);
}

TEST(a_stream_waits_for_an_exchange_and_the_host_does_not) {
  for (const char* const path : {DRIVER_DOUBLE_CUDA, DRIVER_DOUBLE_HIP}) {
    const DriverDouble gpu(path);
    const long held = gpu.held();
    // By messages and through slots, with and without immediate reuse of a channel.
    for (const char* const strategy : {"direct", "aggregate"}) {
      for (const char* const in_flight : {"1", "3"}) {
        Given given(gpu, strategy, in_flight);
        UsersStream users(gpu);
        for (int round = 0; round < 6; ++round) {
          if (given.rank == 0) users.fill(given.owned, round + 1);
          if (given.rank == 0) users.await();
          vicinal_request request = given.start();
          // From here on, nothing finishes before a thread waits for it.
          if (given.rank != 0) gpu.set("hold", 1);
          SUCCEEDS(vicinal_wait_on_stream(&request, users.stream()));
          CHECK(request == nullptr);
          if (given.rank != 0) users.copy(given.later, given.into);
          gpu.set("hold", 0);
          users.await();
          if (given.rank == 0) continue;
          std::vector<std::int64_t> expected(4);
          std::memset(expected.data(), round + 1, 32);
          CHECK(given.later.values() == expected);
        }
        MPI_Barrier(given.comm);
      }
    }
    settle(gpu, held);
    CHECK_EQUAL(gpu.get("misuses"), 0);
  }
}

TEST(a_fault_of_what_was_left_to_a_stream_is_told_of_by_the_next_start) {
  const DriverDouble gpu;
  const long held = gpu.held();
  {
    Given given(gpu, "direct", "1");
    UsersStream users(gpu);
    vicinal_request request = given.start();
    SUCCEEDS(vicinal_wait(&request));
    const bool fails = given.rank == 1;
    if (fails) gpu.set("hold", 1);
    const long moves = gpu.get("copies");
    request = given.start();
    // Leaves only the device's work unfinished.
    const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(60);
    while (fails && gpu.get("copies") == moves && std::chrono::steady_clock::now() < until) {
      SUCCEEDS(vicinal_progress());
    }
    CHECK(!fails || gpu.get("copies") > moves);
    SUCCEEDS(vicinal_wait_on_stream(&request, users.stream()));
    if (fails) {
      gpu.set("fail_query", 1);
      gpu.set("hold", 0);
      const Forgiving forgiving;
      FAILS(MPI_ERR_OTHER,
            vicinal_halo_start(given.halo, given.owned.data(), given.into.data(), 1, MPI_INT64_T,
                               &request),
            "fail");
      CHECK_EQUAL(gpu.get("fail_query"), 0);
    } else {
      request = given.start();
      SUCCEEDS(vicinal_wait(&request));
    }
    request = given.start();
    SUCCEEDS(vicinal_wait(&request));
    if (given.rank != 0) CHECK(given.into.values() == numbers(4, 0));
    // The double's streams progress only while a thread polls them.
    users.try_await();
    MPI_Barrier(given.comm);
  }
  settle(gpu, held);
}

TEST(where_no_gpu_has_anything_left_to_do_the_host_waits) {
  const Duplicate comm;
  const Mesh mesh(comm, "direct");
  HostArray owned(numbers(3, mesh.rank * 3)), into(repeated(mesh.ghosts(), untouched));
  vicinal_request request = nullptr;
  SUCCEEDS(vicinal_wait_on_stream(&request, nullptr));
  if (!kind_of(owned.data()).is_reachable()) skip("needs the host's memory");
  SUCCEEDS(vicinal_halo_start(mesh.halo, owned.data(), into.data(), 1, MPI_INT64_T, &request));
  SUCCEEDS(vicinal_wait_on_stream(&request, nullptr));
  CHECK(request == nullptr);
  CHECK(into.values() == mesh.needed);
}

TEST(no_exchange_is_part_of_a_graph_and_none_spoils_one) {
  const DriverDouble gpu;
  const long held = gpu.held();
  {
    Given given(gpu, "aggregate", "1");
    UsersStream users(gpu), other(gpu);
    vicinal_request request = given.start();
    SUCCEEDS(vicinal_wait(&request));
    // The graph captures none of the library's work, including its work for other ranks.
    users.begin_capture();
    request = given.start();
    {
      const Forgiving forgiving;
      FAILS(MPI_ERR_REQUEST, vicinal_follow_stream(given.owned.data(), users.stream()), "captured");
      int flag = 0;
      SUCCEEDS(vicinal_test(&request, &flag));
      if (flag == 0)
        FAILS(MPI_ERR_REQUEST, vicinal_wait_on_stream(&request, users.stream()), "captured");
    }
    SUCCEEDS(vicinal_wait_on_stream(&request, other.stream()));
    users.end_capture();
    other.await();
    if (given.rank != 0) CHECK(given.into.values() == numbers(4, 0));
    MPI_Barrier(given.comm);
  }
  settle(gpu, held);
  CHECK_EQUAL(gpu.get("misuses"), 0);
}

}  // namespace vicinal::device_streams_tests
