// Calls with counts in a loop that fail, whose ends differ, or whose types, graph and communicator
// are freed meanwhile. Other activity goes on concurrently.
#include <memory>
#include <thread>
#include <utility>
#include <vector>

#include "counted_calls.hpp"

namespace vicinal::counted_call_faults_tests {

using namespace counted;

TEST(a_counted_call_that_fails_is_that_call_alone) {
  if (world_size() < 3) testing::skip("needs 3 ranks");
  for_each_setting([](const Circle& circle) {
    for (const Form form : forms) {
      // Sizes fit the plan in some calls and not in others; all calls are in flight.
      std::vector<Call> calls;
      std::vector<int> codes;
      calls.reserve(48);
      const auto fails = [](int number) { return number % 5 == 3; };
      for (int number = 0; number < 48; ++number) {
        calls.emplace_back(circle, form, number, [](int call, int from, int to, int parallel) {
          return 1 + random_size(call, from, to, parallel);
        });
        const bool bad = fails(number) && circle.rank == number % circle.size;
        codes.push_back(calls.back().begin(bad));
        if (bad) FAILS(MPI_ERR_COUNT, codes.back(), "-3");
      }
      for (int i = 0; i < 48; ++i) {
        const auto at = static_cast<std::size_t>((i * 5 + circle.rank) % 48);
        if (codes[at] == MPI_SUCCESS) codes[at] = vicinal_wait(&calls[at].request);
        const int number = static_cast<int>(at), culprit = number % circle.size;
        if (!fails(number)) {
          SUCCEEDS(codes[at]);
          calls[at].verify();
        } else if (circle.rank != culprit && circle.hears(culprit)) {
          FAILS(MPI_ERR_OTHER, codes[at], "failed on rank");
        } else if (circle.rank != culprit) {
          // Its data share a leader with data of the failed rank, but each edge carries its own
          // size.
          SUCCEEDS(codes[at]);
          calls[at].verify();
        }
      }
    }
  });
}

TEST(counted_calls_whose_ends_differ_are_told) {
  if (world_size() < 3) testing::skip("needs 3 ranks");
  const Forgiving world;
  for (const char* strategy : {"aggregate", "direct"}) {
    const Circle circle(strategy);
    run_loop(circle, Form::alltoallv, constant_size, 9);
    // The sender sends less than expected, more, or more than the capacity; or less where more than
    // the capacity was expected.
    const std::pair<int, int> ends[] = {{2, 5}, {5, 2}, {90, 2}, {2, 90}, {90, 95}, {95, 90}};
    int number = 9;
    for (const auto& [sent, expected] : ends) {
      for (int good = 0; good < 2; ++good) {
        Call call(circle, Form::alltoallv, number++, [&](int, int from, int to, int parallel) {
          if (good == 1 || from != 0 || to != 1 || parallel != 0)
            return constant_size(0, from, to, parallel);
          return circle.rank == 1 ? expected : sent;
        });
        const int code = call.run();
        if (good == 0 && circle.rank == 1) {
          FAILS(MPI_ERR_COUNT, code, "expected");
        } else {
          SUCCEEDS(code);
          call.verify();
        }
      }
    }
  }
}

TEST(a_counted_call_outlives_its_types_graph_and_communicator) {
  for (const int calls : {1, 4, 9, 20}) {
    const int rank = world_rank(), size = world_size();
    MPI_Comm comm = MPI_COMM_NULL;
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    const std::vector<int> to{around(rank + 1, size)}, from{around(rank - 1, size)};
    GraphHandle graph;
    SUCCEEDS(create_graph(
        comm, from, to,
        Hints{{"vicinal_strategy", "aggregate"}, {"vicinal_regions", few_regions(size)}}, &graph));
    struct Buffers {
      std::vector<std::int64_t> sent, received;
      RequestHandle request;
    };
    std::vector<std::unique_ptr<Buffers>> all;
    for (int number = 0; number < calls; ++number) {
      auto& buffers = *all.emplace_back(std::make_unique<Buffers>());
      // Values with gaps; in each second call they exceed the capacity.
      const int count = number % 2 == 0 ? 3 : 3 + number;
      for (int i = 0; i < 2 * count; ++i) buffers.sent.push_back(rank * 1000 + number * 50 + i);
      buffers.received.assign(buffers.sent.size(), -1);
      MPI_Datatype type = MPI_DATATYPE_NULL;
      MPI_Datatype pair = MPI_DATATYPE_NULL;
      MPI_Type_vector(1, 1, 2, MPI_INT64_T, &pair);
      MPI_Type_create_resized(pair, 0, 16, &type);
      MPI_Type_commit(&type);
      MPI_Type_free(&pair);
      const int place = 0;
      SUCCEEDS(vicinal_ineighbor_alltoallv(buffers.sent.data(), &count, &place, type,
                                           buffers.received.data(), &count, &place, type, graph,
                                           &buffers.request));
      MPI_Type_free(&type);
    }
    vicinal_graph_free(&graph);
    MPI_Comm_free(&comm);
    for (int number = calls; number-- > 0;) {
      Buffers& buffers = *all[static_cast<std::size_t>(number)];
      SUCCEEDS(vicinal_wait(&buffers.request));
      for (std::size_t i = 0; i < buffers.received.size(); ++i) {
        const std::int64_t expected = from[0] * 1000 + number * 50 + static_cast<int>(i);
        CHECK_EQUAL(buffers.received[i], i % 2 == 0 ? expected : -1);
      }
    }
  }
}

TEST(counted_calls_under_review_while_a_persistent_request_is_made) {
  for (int skewed = 0; skewed < 2; ++skewed) {
    const Circle circle;
    std::vector<Call> calls;
    calls.reserve(12);
    // The first replan has begun, and calls wait for it.
    for (int number = 0; number < 12; ++number) {
      if (skewed == 1 && circle.rank == number % circle.size) usleep(2000);
      calls.emplace_back(circle, Form::alltoallv, number, constant_size);
      SUCCEEDS(calls.back().begin());
    }
    Call planned(circle, Form::alltoallv, 100, constant_size);
    RequestHandle request;
    SUCCEEDS(vicinal_neighbor_alltoallv_init(
        planned.sent->values(), planned.send_counts.data(), planned.send_places.data(), MPI_INT64_T,
        planned.received->values(), planned.receive_counts.data(), planned.receive_places.data(),
        MPI_INT64_T, circle.graph, MPI_INFO_NULL, &request));
    SUCCEEDS(vicinal_start(&request));
    for (Call& call : calls) call.wait();
    SUCCEEDS(vicinal_wait(&request));
    planned.verify();
  }
}

TEST(early_counted_calls_let_a_rank_block_inside_mpi) {
  // Until a plan takes effect, no rank needs a leader, and no call waits for a replan.
  const Circle circle;
  for (int root = 0; root < std::min(circle.size, 4); ++root) {
    for (int more = 0; more < 2; ++more) {
      Call call(circle, Form::alltoallv, root * 2 + more, constant_size);
      SUCCEEDS(call.begin());
      int token = root;
      if (circle.rank == root) call.wait();
      MPI_Bcast(&token, 1, MPI_INT, root, MPI_COMM_WORLD);
      if (circle.rank != root) call.wait();
    }
  }
}

TEST(two_threads_loop_over_counted_calls) {
  int level = MPI_THREAD_SINGLE;
  MPI_Query_thread(&level);
  if (level != MPI_THREAD_MULTIPLE) testing::skip("needs MPI_THREAD_MULTIPLE");
  const Circle one, other("split");
  std::thread second([&] { run_loop(other, Form::alltoallv, random_size); });
  run_loop(one, Form::alltoallw, random_size);
  second.join();
}

}  // namespace vicinal::counted_call_faults_tests
