// What goes on beside streams of a GPU that wait for exchanges, and is not to wait for them.
#include <chrono>
#include <memory>
#include <thread>
#include <utility>
#include <vector>

#include "streamed_requests.hpp"

namespace vicinal::beside_streams_tests {

using namespace testing;

namespace {

/// Rank 0's numbers, which all others need, from and to arrays of some kind, again and again.
template <class Owned, class Into>
void bring_by_streams(const DriverDouble& gpu, const char* strategy, int count, Owned owned_in,
                      Into into_in) {
  const int rank = world_rank();
  const Duplicate comm;
  HaloHandle halo;
  const Hints hints{{"vicinal_strategy", strategy}, {"vicinal_regions", "node"}};
  const auto needed = numbers(rank == 0 ? 0 : count, 0);
  SUCCEEDS(vicinal_halo_create(comm, 0, rank == 0 ? count : 0,
                               static_cast<std::int64_t>(needed.size()), needed.data(), hints,
                               &halo));
  auto owned = owned_in(numbers(count, 7));
  auto into = into_in(repeated(count, untouched));
  RequestHandle request;
  SUCCEEDS(vicinal_halo_init(halo, owned.data(), into.data(), 1, MPI_INT64_T, &request));
  UsersStream users(gpu);
  for (int round = 0; round < 4; ++round) {
    SUCCEEDS(vicinal_start_on_stream(&request, users.stream()));
    SUCCEEDS(vicinal_wait_on_stream(&request, users.stream()));
  }
  users.await();
  if (rank != 0) CHECK(into.values() == numbers(count, 7));
}

}  // namespace

TEST(what_a_stream_begins_may_be_large_and_have_one_side_in_the_hosts_memory) {
  const int here = 0;
  if (!kind_of(&here).is_reachable()) skip("needs the host's memory");
  with_streams([](const DriverDouble& gpu) {
    const auto there = arrays_of(gpu.memory());
    const auto in_host = [](std::vector<std::int64_t> values) { return HostArray(values); };
    for (const char* const strategy : {"direct", "aggregate"}) {
      for (const int count : {5, 50'000}) {
        bring_by_streams(gpu, strategy, count, there, there);
        bring_by_streams(gpu, strategy, count, there, in_host);
        bring_by_streams(gpu, strategy, count, in_host, there);
      }
    }
  });
}

namespace {

constexpr int rounds_beside = 3;

/// Executes `body()` on all ranks, in each round, while the streams of all but rank 0 wait for an exchange that rank 0 begins afterwards.
template <class Body>
void beside_waiting_streams(const DriverDouble& gpu, Body body) {
  Persistent awaited(gpu, "direct");
  UsersStream users(gpu);
  for (int round = 1; round <= rounds_beside; ++round) {
    if (awaited.rank == 0) {
      users.fill(awaited.owned, round);
      users.await();
    } else {
      SUCCEEDS(vicinal_start(&awaited.request));
      SUCCEEDS(vicinal_wait_on_stream(&awaited.request, users.stream()));
      users.copy(awaited.later, awaited.into);
    }
    body();
    // Rank 0 begins what streams wait for only once all others have come here.
    MPI_Barrier(awaited.comm);
    if (awaited.rank == 0) {
      SUCCEEDS(vicinal_start(&awaited.request));
      SUCCEEDS(vicinal_wait(&awaited.request));
    }
    users.await();
    CHECK(awaited.has(filled(round)));
  }
}

}  // namespace

TEST(what_is_freed_while_a_stream_waits_holds_nobody_up) {
  for (const char* const way : {"staged", "shared"}) {
    const Variable by("VICINAL_DEVICE_WAY", way);
    with_streams([](const DriverDouble& gpu) {
      // By slots that jobs reach, of which each rank visits others'.
      std::vector<std::unique_ptr<Persistent>> gone;
      for (int round = 0; round < rounds_beside; ++round) {
        gone.push_back(std::make_unique<Persistent>(gpu, "aggregate"));
        SUCCEEDS(vicinal_start(&gone.back()->request));
        SUCCEEDS(vicinal_wait(&gone.back()->request));
      }
      beside_waiting_streams(gpu, [&] { gone.pop_back(); });
    });
  }
}

namespace {

/// One for each that a halo may have in flight, so that the next is where the first was.
void exchange_in_all_places(const Persistent& given, MPI_Datatype type) {
  for (int place = 0; place < 4; ++place) {
    vicinal_request request = nullptr;
    SUCCEEDS(
        vicinal_halo_start(given.halo, given.owned.data(), given.into.data(), 1, type, &request));
    SUCCEEDS(vicinal_wait(&request));
  }
}

}  // namespace

TEST(a_fault_closes_nothing_beside_a_stream_that_waits) {
  if (world_size() == 1) skip("needs two ranks");
  for (const char* const way : {"shared", "lent"}) {
    const Variable by("VICINAL_DEVICE_WAY", way);
    with_streams([](const DriverDouble& gpu) {
      Persistent given(gpu, "aggregate");
      exchange_in_all_places(given, MPI_INT64_T);
      beside_waiting_streams(gpu, [&] {
        const Forgiving forgiving;
        vicinal_request request = nullptr;
        FAILS(MPI_ERR_BUFFER,
              vicinal_halo_start(given.halo, nullptr, nullptr, 1, MPI_INT64_T, &request), "null");
      });
      exchange_in_all_places(given, MPI_INT64_T);
      CHECK(given.rank == 0 || given.into.values() == numbers(4, 0));
    });
  }
}

TEST(areas_are_replaced_beside_a_stream_that_waits) {
  for (const char* const way : {"staged", "shared"}) {
    const Variable by("VICINAL_DEVICE_WAY", way);
    with_streams([](const DriverDouble& gpu) {
      Persistent given(gpu, "aggregate");
      exchange_in_all_places(given, MPI_INT64_T);
      beside_waiting_streams(gpu, [&] {
        // The areas of before are not closed meanwhile, and their owner keeps them.
        for (MPI_Datatype const type : {MPI_INT32_T, MPI_INT64_T, MPI_INT16_T, MPI_INT64_T}) {
          exchange_in_all_places(given, type);
        }
      });
      CHECK(given.rank == 0 || given.into.values() == numbers(4, 0));
    });
  }
}

TEST(what_a_program_loads_in_its_first_rounds_holds_nobody_up) {
  with_streams([](const DriverDouble& gpu) {
    // An exchange that a stream begins, and one that the process does.
    for (const bool by_stream : {true, false}) {
      const Variable after("VICINAL_STREAM_AFTER", "2");
      Persistent given(gpu, "direct");
      UsersStream users(gpu);
      const Looked looked(users);
      for (int round = 1; round <= 5; ++round) {
        // Later the process waits for nobody.
        const bool is_late = round > 2 && given.rank == 0;
        if (is_late) MPI_Barrier(given.comm);
        if (given.rank == 0) users.fill(given.owned, round);
        if (given.rank == 0) users.await();
        if (by_stream) {
          SUCCEEDS(vicinal_start_on_stream(&given.request, users.stream()));
        } else {
          SUCCEEDS(vicinal_start(&given.request));
        }
        SUCCEEDS(vicinal_wait_on_stream(&given.request, users.stream()));
        if (round <= 2) users.load();
        if (round > 2 && !is_late) MPI_Barrier(given.comm);
        if (given.rank != 0) users.copy(given.later, given.into);
        users.await();
        CHECK(given.has(filled(round)));
      }
    }
  });
}

TEST(what_follows_a_stream_that_waits_does_not_keep_it_waiting) {
  with_streams([](const DriverDouble& gpu) {
    Persistent given(gpu, "direct");
    DeviceArray second(gpu.memory(), repeated(4, untouched));
    UsersStream users(gpu);
    for (int round = 1; round <= 3; ++round) {
      // So that the others' streams wait when they are followed.
      if (given.rank == 0) std::this_thread::sleep_for(std::chrono::milliseconds(30));
      if (given.rank == 0) users.fill(given.owned, round);
      if (given.rank == 0) users.await();
      SUCCEEDS(vicinal_start(&given.request));
      SUCCEEDS(vicinal_wait_on_stream(&given.request, users.stream()));
      SUCCEEDS(vicinal_follow_stream(given.into.data(), users.stream()));
      vicinal_request request = nullptr;
      SUCCEEDS(vicinal_halo_start(given.halo, given.owned.data(), second.data(), 1, MPI_INT64_T,
                                  &request));
      SUCCEEDS(vicinal_wait(&request));
      if (given.rank != 0) users.copy(given.later, given.into);
      users.await();
      CHECK(given.has(filled(round)));
      if (given.rank != 0) CHECK(second.values() == repeated(4, filled(round)));
      MPI_Barrier(given.comm);
    }
  });
}

TEST(nothing_is_put_behind_a_stream_that_waits_for_what_it_follows) {
  for (const char* const way : {"staged", "shared", "lent"}) {
    const Variable by("VICINAL_DEVICE_WAY", way);
    with_streams([](const DriverDouble& gpu) {
      for (const char* const strategy : {"direct", "aggregate"}) {
        Persistent given(gpu, strategy);
        UsersStream users(gpu);
        for (int round = 1; round <= 4; ++round) {
          // What the exchange follows is not over when the others' streams wait, and rank 0 begins only then.
          users.fill(given.rank == 0 ? given.owned : given.later, round);
          SUCCEEDS(vicinal_follow_stream(given.owned.data(), users.stream()));
          if (given.rank == 0) MPI_Barrier(given.comm);
          if (given.rank != 0) gpu.set("hold", 1);
          SUCCEEDS(vicinal_start(&given.request));
          SUCCEEDS(vicinal_wait_on_stream(&given.request, users.stream()));
          if (given.rank != 0) MPI_Barrier(given.comm);
          // So that the last copies are due while it is still not over.
          std::this_thread::sleep_for(std::chrono::milliseconds(10));
          gpu.set("hold", 0);
          if (given.rank != 0) users.copy(given.later, given.into);
          users.await();
          CHECK(given.has(filled(round)));
          MPI_Barrier(given.comm);
        }
      }
    });
  }
}

TEST(streams_that_wait_leave_a_queue_to_others) {
  with_streams([](const DriverDouble& gpu) {
    Persistent first(gpu, "direct"), second(gpu, "direct");
    UsersStream one(gpu), two(gpu);
    for (int round = 1; round <= 3; ++round) {
      if (first.rank == 0) one.fill(first.owned, round);
      if (first.rank == 0) two.fill(second.owned, round + 10);
      SUCCEEDS(vicinal_start_on_stream(&first.request, one.stream()));
      SUCCEEDS(vicinal_start_on_stream(&second.request, two.stream()));
      // Somebody must have the double's streams go on until the process need not wait.
      one.ask();
      two.ask();
      SUCCEEDS(vicinal_wait_on_stream(&first.request, one.stream()));
      SUCCEEDS(vicinal_wait_on_stream(&second.request, two.stream()));
      if (first.rank != 0) one.copy(first.later, first.into);
      if (first.rank != 0) two.copy(second.later, second.into);
      one.await();
      two.await();
      CHECK(first.has(filled(round)));
      CHECK(second.has(filled(round + 10)));
    }
  });
}

}  // namespace vicinal::beside_streams_tests
