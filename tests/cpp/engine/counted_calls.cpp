// Calls with counts in a loop: first sent directly, then by a plan whose capacities replans change.
// However sizes change, each call delivers what was sent, and writes nowhere else.
#include "counted_calls.hpp"

#include <algorithm>
#include <string>
#include <vector>

#include "api/shared.hpp"
#include "collectives/replan.hpp"

namespace vicinal::counted_calls_tests {

using namespace counted;

TEST(counted_calls_are_summed_up_by_size) {
  const auto sizes = [](std::vector<std::int64_t> bytes) {
    EdgeData data;
    for (const std::int64_t count : bytes) {
      EdgePiece piece;
      piece.count = count;
      piece.type.size = 1;
      data.pieces.push_back(piece);
    }
    return data;
  };
  SizeRecord record;
  CHECK(record.capacities(2) ==
        std::vector<std::int64_t>({0, 0}));  // if all calls failed on this rank
  record.note(sizes({8, 100}), nullptr);
  record.note(sizes({8, 40}), nullptr);
  CHECK(record.capacities(2) == std::vector<std::int64_t>({8, 125}));
  record.note(sizes({8, 200}), nullptr);
  CHECK_EQUAL(record.figures().too_large, 1);  // the first sizes do not count as too large
  CHECK_EQUAL(record.figures().pieces, 6);
  CHECK_EQUAL(record.figures().needed, 208);
  record.note(sizes({8, 1 << 20}), nullptr);
  CHECK(record.capacities(2) ==
        std::vector<std::int64_t>({8, 0}));  // the second edge takes a message of its own
  record.forget();
  const std::vector<std::int64_t> capacities{8, 125};
  record.note(sizes({9, 125}), &capacities);
  CHECK_EQUAL(record.figures().too_large, 1);
  CHECK_EQUAL(record.figures().pieces, 2);
}

TEST(counted_calls_are_reviewed_by_what_all_have_noted) {
  const auto decision = [](std::int64_t too_large, std::int64_t needed, std::int64_t room,
                           CallMethod method) {
    return ruling_on({800, too_large, needed, room, 1}, method);
  };
  for (const CallMethod method :
       {CallMethod::unknown, CallMethod::straight, CallMethod::planned, CallMethod::planned_anew}) {
    CHECK(ruling_on({800, 0, 1000, 0, 0}, method) == Ruling::straight);
  }
  CHECK(decision(800, 1000, 0, CallMethod::unknown) == Ruling::plan);
  CHECK(decision(100, 1000, 0, CallMethod::straight) == Ruling::plan);
  CHECK(decision(101, 1000, 0, CallMethod::straight) == Ruling::straight);
  CHECK(decision(100, 1000, 2000, CallMethod::planned) == Ruling::keep);
  CHECK(decision(101, 1000, 2000, CallMethod::planned) == Ruling::plan);
  CHECK(decision(101, 1000, 2000, CallMethod::planned_anew) == Ruling::straight);
  CHECK(decision(0, 1000, 2001, CallMethod::planned) == Ruling::plan);
  CHECK(decision(0, 1000, 2001, CallMethod::planned_anew) == Ruling::plan);
}

TEST(counted_calls_with_the_same_sizes) {
  for_each_setting([](const Circle& circle) { run_loop(circle, Form::alltoallv, constant_size); });
}

TEST(counted_calls_whose_sizes_change_in_every_call) {
  for_each_setting([](const Circle& circle) {
    for (const Form form : forms) run_loop(circle, form, random_size);
  });
}

TEST(counted_calls_of_two_sets_of_sizes_in_turn) {
  for_each_setting([](const Circle& circle) {
    run_loop(circle, Form::alltoallv, [](int number, int from, int to, int parallel) {
      return number % 2 == 0 ? constant_size(0, from, to, parallel)
                             : 30 - constant_size(0, to, from, parallel);
    });
  });
}

TEST(counted_calls_that_outgrow_their_plan_and_shrink_again) {
  for_each_setting([](const Circle& circle) {
    run_loop(
        circle, Form::alltoallv,
        [](int number, int from, int to, int parallel) {
          const int stage = number < 10 ? 1 : number < 30 ? 20 : number < 70 ? 0 : 2;
          return stage * constant_size(number, from, to, parallel);
        },
        140);
  });
}

TEST(counted_calls_along_parallel_edges_that_swap_sizes) {
  // Either edge, both or none exceeds its capacity, varying from call to call.
  for_each_setting([](const Circle& circle) {
    run_loop(circle, Form::alltoallv, [](int number, int, int, int parallel) {
      if (number < 8) return 5;
      return (number + parallel) % 3 == 0 ? 5 : 50 + number % 4 + parallel;
    });
  });
}

TEST(counted_calls_with_one_edge_too_large_for_any_plan) {
  const Circle circle;
  run_loop(
      circle, Form::alltoallv,
      [&](int number, int from, int, int parallel) {
        return from == 0 && parallel == 1 ? 40000 + number : 4;
      },
      20);
}

TEST(counted_calls_of_few_tiny_pieces_nearby_take_messages_until_they_grow) {
  const int rank = world_rank(), size = world_size();
  const std::vector<int> next{around(rank + 1, size)}, before{around(rank - 1, size)};
  const bool near =
      size > 1 && all_on_one_host() && mpi::Communicator::of(MPI_COMM_WORLD)->arena() != nullptr;
  // One region, where a plan gains nothing; and several, where a leader may gather.
  for (const std::string& regions : {std::string("node"), few_regions(size)}) {
    for (const char* strategy : {"automatic", "aggregate"}) {
      const Duplicate comm;
      GraphHandle graph;
      SUCCEEDS(create_graph(comm, before, next,
                            Hints{{"vicinal_strategy", strategy},
                                  {"vicinal_regions", regions},
                                  {"vicinal_choice", "estimate"}},
                            &graph));
      const bool by_messages = strategy == std::string("automatic") && regions == "node";
      for (int number = 0; number < 150; ++number) {
        const int count = number < 20 || number >= 60 ? 1 : 100, place = 0;
        const std::vector<int> sent(100, number * size + rank);
        std::vector<int> received(100, -1);
        SUCCEEDS(vicinal_neighbor_alltoallv(sent.data(), &count, &place, MPI_INT, received.data(),
                                            &count, &place, MPI_INT, graph));
        std::vector<int> expected(100, -1);
        std::fill_n(expected.begin(), count, number * size + before[0]);
        CHECK(received == expected);
        const bool tiny = number < 32 || number >= 128;  // as of the last replan
        const bool planned = c_api::find(static_cast<vicinal_graph>(graph))
                                 ->graph->plan_in_use(CallKind::alltoallv) != nullptr;
        const bool may_gather = near && (regions == "node" || size >= 4);
        if (may_gather && number >= 8) CHECK_EQUAL(planned, !(by_messages && tiny));
      }
    }
  }
}

TEST(counted_calls_of_ranks_without_data_of_their_own) {
  // A leader without data has to forward those of other ranks.
  for_each_setting([](const Circle& circle) {
    for (int idle = 0; idle < std::min(circle.size, 4); ++idle) {
      run_loop(
          circle, Form::alltoallv,
          [=](int number, int from, int to, int) {
            return from == idle || to == idle ? 0 : 2 + number % 3;
          },
          20);
    }
  });
}

TEST(counted_calls_in_flight_across_reviews) {
  for_each_setting([](const Circle& circle) {
    std::vector<Call> calls;
    calls.reserve(75);
    for (int number = 0; number < 75; ++number) {
      calls.emplace_back(circle, forms[number % 3], number, random_size);
      SUCCEEDS(calls.back().begin());
    }
    for (int i = 0; i < 75; ++i)
      calls[static_cast<std::size_t>((i * 7 + circle.rank * 3) % 75)].wait();
  });
}

TEST(counted_calls_of_which_the_last_alone_is_tested) {
  const Circle circle;
  for (int round = 0; round < 6; ++round) {
    std::vector<Call> calls;
    calls.reserve(8);
    for (int i = 0; i < 8; ++i) {
      calls.emplace_back(circle, Form::alltoallv, round * 8 + i, random_size);
      SUCCEEDS(calls.back().begin());
    }
    int done = 0;
    while (done == 0) SUCCEEDS(vicinal_test(&calls.back().request, &done));
    calls.back().verify();
    for (std::size_t i = 0; i < 7; ++i) calls[i].wait();
  }
}

}  // namespace vicinal::counted_calls_tests
