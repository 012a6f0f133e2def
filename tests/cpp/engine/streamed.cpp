// Exchanges that streams of a GPU begin, and whose end they wait for, with the process elsewhere; and graphs of these.
#include <chrono>
#include <thread>
#include <vector>

#include "streamed_requests.hpp"

namespace vicinal::streamed_tests {

using namespace testing;

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
      // Unless it is over already, for want of others.
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
  // What one rank gives wrong, all are told of.
  RequestHandle refused;
  CHECK(vicinal_halo_init(mesh.halo, owned.data(), into.data(), mesh.rank == 0 ? -1 : 1,
                          MPI_INT64_T, &refused) != MPI_SUCCESS);
}

TEST(a_stream_begins_exchanges_and_waits_for_them) {
  with_streams([](const DriverDouble& gpu) {
    for (const char* const strategy : {"direct", "aggregate"}) {
      Persistent given(gpu, strategy);
      UsersStream users(gpu);
      for (int round = 1; round <= 5; ++round) {
        // All of it is put there before any of it is done.
        for (int turn = 0; turn < 2; ++turn) {
          if (given.rank == 0) users.fill(given.owned, 10 * round + turn);
          SUCCEEDS(vicinal_start_on_stream(&given.request, users.stream()));
          SUCCEEDS(vicinal_wait_on_stream(&given.request, users.stream()));
          if (given.rank != 0) users.copy(given.later, given.into);
        }
        users.await();
        CHECK(given.has(filled(10 * round + 1)));
      }
      // The process may wait for it, too, and start others.
      SUCCEEDS(vicinal_start_on_stream(&given.request, users.stream()));
      users.await();
      SUCCEEDS(vicinal_wait(&given.request));
      SUCCEEDS(vicinal_start(&given.request));
      SUCCEEDS(vicinal_wait(&given.request));
      // Its end is waited for where nobody has.
      SUCCEEDS(vicinal_start_on_stream(&given.request, users.stream()));
      users.await();
      SUCCEEDS(vicinal_request_free(&given.request));
    }
  });
}

TEST(a_stream_waits_for_what_begins_when_the_process_is_elsewhere) {
  with_streams([](const DriverDouble& gpu) {
    Persistent given(gpu, "direct");
    UsersStream users(gpu);
    for (int round = 1; round <= 3; ++round) {
      // Rank 0 begins only once all others have done with the exchange.
      if (given.rank == 0) MPI_Barrier(given.comm);
      if (given.rank == 0) users.fill(given.owned, round);
      if (given.rank == 0) users.await();
      SUCCEEDS(vicinal_start(&given.request));
      SUCCEEDS(vicinal_wait_on_stream(&given.request, users.stream()));
      if (given.rank != 0) users.copy(given.later, given.into);
      if (given.rank != 0) MPI_Barrier(given.comm);
      users.await();
      CHECK(given.has(filled(round)));
    }
  });
}

TEST(a_request_stays_as_long_as_its_stream_looks_at_it) {
  with_streams([](const DriverDouble& gpu) {
    Persistent given(gpu, "direct");
    UsersStream users(gpu);
    for (int round = 0; round < 16; ++round) {
      RequestHandle request;
      SUCCEEDS(vicinal_halo_init(given.halo, given.owned.data(), given.into.data(), 1, MPI_INT64_T,
                                 &request));
      SUCCEEDS(vicinal_start_on_stream(&request, users.stream()));
      SUCCEEDS(vicinal_wait_on_stream(&request, users.stream()));
      std::thread late([&] {
        std::this_thread::sleep_for(std::chrono::milliseconds(2));
        users.await();
      });
      SUCCEEDS(vicinal_request_free(&request));
      late.join();
    }
  });
}

TEST(a_graph_executes_an_exchange_each_time_that_it_is_launched) {
  with_streams([](const DriverDouble& gpu) {
    for (const char* const strategy : {"direct", "aggregate"}) {
      // Which goes for no graph.
      const Variable after("VICINAL_STREAM_AFTER", strategy[0] == 'd' ? "2" : "0");
      Persistent given(gpu, strategy);
      const DeviceArray values(gpu.memory(), numbers(4, 0));
      UsersStream users(gpu), other(gpu);
      users.begin_capture();
      // What the library does meanwhile, for others, does no harm.
      SUCCEEDS(vicinal_progress());
      if (given.rank == 0) users.copy(given.owned, values);
      SUCCEEDS(vicinal_start_on_stream(&given.request, users.stream()));
      SUCCEEDS(vicinal_wait_on_stream(&given.request, users.stream()));
      if (given.rank != 0) users.copy(given.later, given.into);
      void* const graph = users.end_capture();
      for (int round = 1; round <= 6; ++round) {
        if (given.rank == 0) users.fill(values, round);
        users.launch(graph);
        if (round % 2 == 0) users.await();
        if (round % 2 == 0) CHECK(given.has(filled(round)));
      }
      {
        const Forgiving forgiving;
        FAILS(MPI_ERR_REQUEST, vicinal_start(&given.request), "part of a graph");
        FAILS(MPI_ERR_REQUEST, vicinal_start_on_stream(&given.request, other.stream()),
              "part of a graph");
      }
      SUCCEEDS(vicinal_wait(&given.request));
      users.destroy(graph);
      SUCCEEDS(vicinal_request_free(&given.request));
    }
  });
}

TEST(a_graph_takes_only_what_it_can_execute) {
  with_streams([](const DriverDouble& gpu) {
    Persistent given(gpu, "direct");
    UsersStream users(gpu);
    vicinal_request once = nullptr;
    {
      users.begin_capture();
      const Forgiving forgiving;
      FAILS(MPI_ERR_REQUEST, vicinal_follow_stream(given.owned.data(), users.stream()), "captured");
      SUCCEEDS(vicinal_halo_start(given.halo, given.owned.data(), given.into.data(), 1, MPI_INT64_T,
                                  &once));
      FAILS(MPI_ERR_REQUEST, vicinal_start_on_stream(&once, users.stream()), "not persistent");
      int flag = 0;
      SUCCEEDS(vicinal_test(&once, &flag));
      if (flag == 0) {
        FAILS(MPI_ERR_REQUEST, vicinal_wait_on_stream(&once, users.stream()), "captured");
        CHECK(once != nullptr);
        SUCCEEDS(vicinal_wait(&once));
      }
      users.destroy(users.end_capture());
    }
  });
}

TEST(a_beginning_that_fails_is_no_part_of_a_graph) {
  with_streams([](const DriverDouble& gpu) {
    for (int n = 1; n <= 8; ++n) {
      Persistent given(gpu, "direct");
      UsersStream users(gpu);
      users.begin_capture();
      int failed = 0;
      {
        const Forgiving forgiving;
        gpu.set("fail_in", n);
        failed = vicinal_start_on_stream(&given.request, users.stream()) != MPI_SUCCESS ? 1 : 0;
        gpu.set("fail_in", 0);
      }
      users.destroy(users.end_capture());
      MPI_Allreduce(MPI_IN_PLACE, &failed, 1, MPI_INT, MPI_MIN, given.comm);
      if (failed == 0) continue;
      for (int round = 0; round < 2; ++round) {
        SUCCEEDS(vicinal_start_on_stream(&given.request, users.stream()));
        SUCCEEDS(vicinal_wait_on_stream(&given.request, users.stream()));
        if (given.rank != 0) users.copy(given.later, given.into);
        users.await();
        CHECK(given.rank == 0 || given.later.values() == numbers(4, 0));
      }
    }
  });
}

TEST(a_graph_takes_no_end_without_its_beginning) {
  with_streams([](const DriverDouble& gpu) {
    const Variable after("VICINAL_STREAM_AFTER", "2");
    Persistent given(gpu, "direct");
    UsersStream users(gpu);
    SUCCEEDS(vicinal_start_on_stream(&given.request, users.stream()));
    users.begin_capture();
    {
      const Forgiving forgiving;
      FAILS(MPI_ERR_REQUEST, vicinal_wait_on_stream(&given.request, users.stream()),
            "of which its beginning is none");
    }
    users.destroy(users.end_capture());
    const Looked looked(users);
    SUCCEEDS(vicinal_wait_on_stream(&given.request, users.stream()));
  });
}

/// Also where ranks of other regions hand on, and their areas are others from then on.
TEST(a_failing_device_holds_no_stream_up) {
  for (const char* const regions : {"node", "blocks:2"}) {
    with_streams([&](const DriverDouble& gpu) {
      Persistent given(gpu, "aggregate", regions);
      UsersStream users(gpu);
      const Forgiving forgiving;
      for (int n = 1; n <= 24; ++n) {
        if (given.rank == 1) gpu.set("fail_in", n);
        // One that fails counts, too: the others hear of it.
        const bool begun = vicinal_start_on_stream(&given.request, users.stream()) == MPI_SUCCESS;
        const bool left =
            begun && vicinal_wait_on_stream(&given.request, users.stream()) == MPI_SUCCESS;
        if (!left) gpu.set("fail_in", 0);
        users.try_await();
        gpu.set("fail_in", 0);
        // As others do, who may have been told of the fault by the next start.
        while (vicinal_wait(&given.request) != MPI_SUCCESS) {
        }
        MPI_Barrier(given.comm);
        // Whatever has failed, the next is whole.
        bool whole = false;
        while (!whole) {
          whole = vicinal_start(&given.request) == MPI_SUCCESS;
          whole = vicinal_wait(&given.request) == MPI_SUCCESS && whole;
          int all = whole ? 1 : 0;
          MPI_Allreduce(MPI_IN_PLACE, &all, 1, MPI_INT, MPI_MIN, given.comm);
          whole = all == 1;
        }
        if (given.rank != 0) CHECK(given.into.values() == numbers(4, 0));
      }
    });
  }
}

TEST(who_leaves_after_a_start_that_failed_hands_on_what_others_wait_for) {
  with_streams([](const DriverDouble& gpu) {
    Persistent given(gpu, "aggregate", "blocks:2");
    UsersStream users(gpu);
    const Forgiving forgiving;
    for (int turn = 0; turn < world_size(); ++turn) {
      const int who = (turn + 2) % world_size();  // at first one that relays, with nothing set up
      if (given.rank == who) {
        gpu.set("fail_in", 1);
        CHECK(vicinal_start_on_stream(&given.request, users.stream()) != MPI_SUCCESS);
        gpu.set("fail_in", 0);
      } else {
        // Not before the one that leaves has left.
        if (given.rank == 0) std::this_thread::sleep_for(std::chrono::milliseconds(50));
        SUCCEEDS(vicinal_start_on_stream(&given.request, users.stream()));
        users.try_await();
        const bool failed = vicinal_wait(&given.request) != MPI_SUCCESS;
        CHECK(failed || who != 0);  // from whom all need something
      }
      MPI_Barrier(given.comm);  // which looks at nothing of the library's
      SUCCEEDS(vicinal_start(&given.request));
      SUCCEEDS(vicinal_wait(&given.request));
      CHECK(given.rank == 0 || given.into.values() == numbers(4, 0));
    }
  });
}

TEST(nobody_waits_for_a_stream_whose_device_is_lost) {
  with_streams([](const DriverDouble& gpu) {
    Persistent given(gpu, "direct");
    UsersStream users(gpu);
    const Forgiving forgiving;
    for (int round = 0; round < 2; ++round) {
      // Rank 0 is it, for which all others wait. What it has left to its stream never begins.
      if (given.rank == 0) gpu.set("hold", 1);
      for (int turn = 0; turn <= round; ++turn) {
        SUCCEEDS(vicinal_start_on_stream(&given.request, users.stream()));
        if (turn < round) SUCCEEDS(vicinal_wait_on_stream(&given.request, users.stream()));
      }
      if (given.rank == 0) {
        gpu.set("lost", 1);
        FAILS(MPI_ERR_OTHER, vicinal_wait(&given.request), "illegal memory access");
        // That fails at once, and the others hear of it all the same.
        FAILS(MPI_ERR_OTHER, vicinal_start_on_stream(&given.request, users.stream()),
              "illegal memory access");
        SUCCEEDS(vicinal_wait(&given.request));
        gpu.set("lost", 0);
        gpu.set("hold", 0);
      } else {
        users.try_await();
        FAILS(MPI_ERR_OTHER, vicinal_wait(&given.request), "rank 0");
        SUCCEEDS(vicinal_start_on_stream(&given.request, users.stream()));
        users.try_await();
        FAILS(MPI_ERR_OTHER, vicinal_wait(&given.request), "rank 0");
      }
      users.try_await();
      MPI_Barrier(given.comm);
      SUCCEEDS(vicinal_start_on_stream(&given.request, users.stream()));
      SUCCEEDS(vicinal_wait_on_stream(&given.request, users.stream()));
      if (given.rank != 0) users.copy(given.later, given.into);
      users.await();
      CHECK(given.rank == 0 || given.later.values() == numbers(4, 0));
    }
  });
}

TEST(a_fault_of_what_a_stream_began_is_told_by_the_next_start_which_begins_all_the_same) {
  with_streams([](const DriverDouble& gpu) {
    Persistent given(gpu, "direct");
    UsersStream users(gpu);
    const Forgiving forgiving;
    int told = 0;
    for (int n = 1; n <= 20; ++n) {
      if (given.rank == 0) users.fill(given.owned, n);
      if (given.rank == 0) users.await();
      if (vicinal_start_on_stream(&given.request, users.stream()) != MPI_SUCCESS) ++told;
      SUCCEEDS(vicinal_wait_on_stream(&given.request, users.stream()));
      // In every other round; the next is whole.
      if (given.rank == 1 && n % 2 == 0) gpu.set("fail_in", n / 2 + 2);
      users.try_await();
      gpu.set("fail_in", 0);
      if (given.rank != 0 && n % 2 == 1) users.copy(given.later, given.into);
      users.await();
      if (n % 2 == 1) CHECK(given.has(filled(n)));
      MPI_Barrier(given.comm);
    }
    if (given.rank == 1) CHECK(told > 0);
    // The last one's, perhaps.
    static_cast<void>(vicinal_wait(&given.request));
  });
}

TEST(amds_streams_begin_nothing) {
  const DriverDouble gpu(DRIVER_DOUBLE_HIP);
  const long held = gpu.held();
  {
    Persistent given(gpu, "direct");
    UsersStream users(gpu);
    const Forgiving forgiving;
    FAILS(MPI_ERR_UNSUPPORTED_OPERATION, vicinal_start_on_stream(&given.request, users.stream()),
          "CUDA");
    SUCCEEDS(vicinal_start(&given.request));
    SUCCEEDS(vicinal_wait_on_stream(&given.request, users.stream()));
    users.await();
    if (given.rank != 0) CHECK(given.into.values() == numbers(4, 0));
  }
  settle(gpu, held);
}

}  // namespace vicinal::streamed_tests
