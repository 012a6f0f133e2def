// Calls in loops. Nonblocking calls wait for no rank when they begin, and any number may be in
// flight. A fault affects one call: ranks that depend on it fail, earlier and later calls succeed.
#include <algorithm>
#include <functional>
#include <string>
#include <vector>

#include "world.hpp"

namespace vicinal::call_queue_tests {
namespace {

using namespace testing;

constexpr int reach = 2;

/// A ring in which each rank exchanges with those up to two places away, without self-edges.
struct Circle {
  int rank = world_rank();
  int size = world_size();
  Duplicate comm;
  std::vector<int> peers;
  GraphHandle graph;

  Circle(const std::string& strategy, const std::string& local) {
    for (int shift = -reach; shift <= reach; ++shift) {
      if (shift != 0) peers.push_back(around(rank + shift, size));
    }
    SUCCEEDS(create_graph(comm, peers, peers,
                          Hints{{"vicinal_strategy", strategy},
                                {"vicinal_local", local},
                                {"vicinal_regions", few_regions(size)}},
                          &graph));
  }
  /// Waits for all ranks, and makes progress: a failed call may still serve other ranks, without a
  /// request. A leader must not block inside MPI before that is done.
  void meet() const {
    MPI_Request others = MPI_REQUEST_NULL;
    MPI_Ibarrier(comm, &others);
    for (int done = 0; done == 0; MPI_Test(&others, &done, MPI_STATUS_IGNORE)) vicinal_progress();
  }
  /// Returns whether an edge of this rank comes from another rank `other`.
  [[nodiscard]] bool hears(int other) const {
    return other != rank && std::find(peers.begin(), peers.end(), other) != peers.end();
  }
};

enum class Form { alltoall, alltoallv, alltoallw, allgather, allgatherv };
constexpr Form forms[] = {Form::alltoall, Form::alltoallv, Form::alltoallw, Form::allgather,
                          Form::allgatherv};

/// One call, with its own buffers.
struct Call {
  const Circle& circle;
  Form form;
  int number;
  int count;
  std::vector<std::int64_t> sent, received;
  std::vector<int> counts, places;
  std::vector<MPI_Aint> offsets;
  std::vector<MPI_Datatype> types;
  RequestHandle request;

  Call(const Circle& where, Form what, int call_number, int elements)
      : circle(where), form(what), number(call_number), count(elements) {
    const std::size_t edges = circle.peers.size(), all = edges * static_cast<std::size_t>(count);
    sent.resize(all);
    received.assign(all, -1);
    for (std::size_t e = 0; e < edges; ++e) {
      for (int i = 0; i < count; ++i) {
        sent[e * static_cast<std::size_t>(count) + static_cast<std::size_t>(i)] =
            value(circle.rank, gathers() ? 0 : circle.peers[e], i);
      }
      counts.push_back(count);
      places.push_back(static_cast<int>(e) * count);
      offsets.push_back(static_cast<MPI_Aint>(e) * count * 8);
      types.push_back(MPI_INT64_T);
    }
  }
  [[nodiscard]] bool gathers() const { return form == Form::allgather || form == Form::allgatherv; }
  [[nodiscard]] std::int64_t value(int from, int to, int i) const {
    return ((std::int64_t{number} * 100 + from) * 100 + to) * 1000 + i;
  }

  int begin(bool bad = false) {
    vicinal_request* to = &request;
    vicinal_graph graph = circle.graph;
    const int n = bad ? -3 : count;
    std::vector<int> given = counts;
    if (bad) given.back() = -3;
    switch (form) {
      case Form::alltoall:
        return vicinal_ineighbor_alltoall(sent.data(), n, MPI_INT64_T, received.data(), count,
                                          MPI_INT64_T, graph, to);
      case Form::alltoallv:
        return vicinal_ineighbor_alltoallv(sent.data(), given.data(), places.data(), MPI_INT64_T,
                                           received.data(), counts.data(), places.data(),
                                           MPI_INT64_T, graph, to);
      case Form::alltoallw:
        return vicinal_ineighbor_alltoallw(sent.data(), given.data(), offsets.data(), types.data(),
                                           received.data(), counts.data(), offsets.data(),
                                           types.data(), graph, to);
      case Form::allgather:
        return vicinal_ineighbor_allgather(sent.data(), n, MPI_INT64_T, received.data(), count,
                                           MPI_INT64_T, graph, to);
      case Form::allgatherv:
        return vicinal_ineighbor_allgatherv(sent.data(), n, MPI_INT64_T, received.data(),
                                            counts.data(), places.data(), MPI_INT64_T, graph, to);
    }
    return MPI_ERR_INTERN;
  }
  int run(bool bad = false) {
    vicinal_graph graph = circle.graph;
    const int n = bad ? -3 : count;
    if (form == Form::alltoall) {
      return vicinal_neighbor_alltoall(sent.data(), n, MPI_INT64_T, received.data(), count,
                                       MPI_INT64_T, graph);
    }
    if (form == Form::allgather) {
      return vicinal_neighbor_allgather(sent.data(), n, MPI_INT64_T, received.data(), count,
                                        MPI_INT64_T, graph);
    }
    const int begun = begin(bad);
    return begun != MPI_SUCCESS ? begun : vicinal_wait(&request);
  }
  void verify() const {
    for (std::size_t e = 0; e < circle.peers.size(); ++e) {
      for (int i = 0; i < count; ++i) {
        const auto place = e * static_cast<std::size_t>(count) + static_cast<std::size_t>(i);
        const std::int64_t expected = value(circle.peers[e], gathers() ? 0 : circle.rank, i);
        if (received[place] == expected) continue;
        fail_check(__FILE__, __LINE__, "call ", number, ", form ", static_cast<int>(form),
                   ": element ", i, " from rank ", circle.peers[e], " is ", received[place],
                   ", not ", expected);
      }
    }
  }
  void wait() {
    SUCCEEDS(vicinal_wait(&request));
    verify();
  }
  /// Checks the code of a call that failed on `culprit`.
  void judge(int code, int culprit) const {
    if (circle.rank == culprit) {
      FAILS(MPI_ERR_COUNT, code, "-3");
    } else if (circle.hears(culprit)) {
      FAILS(MPI_ERR_OTHER, code, "failed on rank");
    } else if (code == MPI_SUCCESS) {
      verify();
    } else {
      FAILS(MPI_ERR_OTHER, code, "failed on rank");
    }
  }
};

/// Runs the test with several strategies, with and without shared memory.
void for_each_setting(const std::function<void(const std::string&, const std::string&)>& test) {
  // Many ranks on few cores take long, and detect little more.
  const std::vector<std::string> all{"direct", "aggregate", "two-step", "automatic"},
      one{"aggregate"};
  for (const std::string& strategy : world_size() <= 4 ? all : one) {
    for (const char* local : {"shared", "messages"}) test(strategy, local);
  }
}

}  // namespace

TEST(a_nonblocking_call_waits_for_nobody) {
  // Rank 0 begins a call, possibly the first on the graph. Only then may the other ranks begin.
  for (const Form form : forms) {
    const Circle circle("automatic", "shared");
    Call call(circle, form, 1, 3);
    int leave = 0;
    if (circle.rank == 0) {
      SUCCEEDS(call.begin());
      for (int other = 1; other < circle.size; ++other) {
        MPI_Send(&leave, 1, MPI_INT, other, 0, MPI_COMM_WORLD);
      }
    } else {
      MPI_Recv(&leave, 1, MPI_INT, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
      SUCCEEDS(call.begin());
    }
    call.wait();
  }
}

TEST(early_calls_need_nothing_of_those_who_have_them_behind_them) {
  // The root completes its call while other ranks block inside MPI, so it needs no leader.
  const Circle circle("automatic", "shared");
  for (int root = 0; root < std::min(circle.size, 4); ++root) {
    Call call(circle, Form::alltoall, root, 2);
    SUCCEEDS(call.begin());
    int token = root;
    if (circle.rank == root) call.wait();
    MPI_Bcast(&token, 1, MPI_INT, root, MPI_COMM_WORLD);
    if (circle.rank != root) call.wait();
  }
}

TEST(more_calls_in_flight_than_channels) {
  for_each_setting([](const std::string& strategy, const std::string& local) {
    const Circle circle(strategy, local);
    std::vector<Call> calls;
    calls.reserve(40);
    for (int number = 0; number < 40; ++number) {
      const Form form = forms[number % 5];
      calls.emplace_back(circle, form, number, 1 + number % 3);
      SUCCEEDS(calls.back().begin());
    }
    // The order of waits differs from rank to rank.
    for (int i = 0; i < 40; ++i) {
      calls[static_cast<std::size_t>((i * 7 + circle.rank * 3) % 40)].wait();
    }
  });
}

TEST(a_fault_is_that_of_one_call) {
  if (world_size() < 2) testing::skip("needs 2 ranks");
  for_each_setting([](const std::string& strategy, const std::string& local) {
    const Circle circle(strategy, local);
    int number = 0;
    for (int round = 0; round < 6; ++round) {
      for (const Form form : forms) {
        const int culprit = around(number * 3 + round, circle.size);
        const int elements = 1 + (round + number) % 4;  // sizes change at and after the fault
        ++number;
        Call call(circle, form, number, elements);
        const bool blocks = round % 2 == 0;
        int code = blocks ? call.run(circle.rank == culprit) : call.begin(circle.rank == culprit);
        if (!blocks && code == MPI_SUCCESS) code = vicinal_wait(&call.request);
        call.judge(code, culprit);
        ++number;
        Call next(circle, form, number, 1 + (round + number) % 5);
        if (blocks) {
          SUCCEEDS(next.run());
          next.verify();
        } else {
          SUCCEEDS(next.begin());
          next.wait();
        }
      }
    }
    circle.meet();
  });
}

TEST(a_rank_whose_call_has_failed_may_block_inside_mpi) {
  // Long messages to the failed rank are in flight.
  if (world_size() < 2) testing::skip("needs 2 ranks");
  for (const Form form : forms) {
    const Circle circle("automatic", "messages");
    Call call(circle, form, 1, 1 << 15);
    int code = call.begin(circle.rank == 0);
    if (code == MPI_SUCCESS) code = vicinal_wait(&call.request);
    call.judge(code, 0);
    MPI_Barrier(MPI_COMM_WORLD);
  }
}

TEST(a_fault_among_many_calls_in_flight) {
  if (world_size() < 2) testing::skip("needs 2 ranks");
  for_each_setting([](const std::string& strategy, const std::string& local) {
    const Circle circle(strategy, local);
    for (int round = 0; round < 3; ++round) {
      for (const Form form : forms) {
        std::vector<Call> calls;
        std::vector<int> codes;
        calls.reserve(10);
        const int culprit = around(round + static_cast<int>(form), circle.size);
        for (int number = 0; number < 10; ++number) {
          calls.emplace_back(circle, form, round * 10 + number, 1 + (number + round) % 3);
          const bool bad = circle.rank == culprit && (number == 3 || number == 6);
          codes.push_back(calls.back().begin(bad));
        }
        for (int i = 0; i < 10; ++i) {
          const auto at = static_cast<std::size_t>((i * 3 + circle.rank) % 10);
          if (codes[at] == MPI_SUCCESS) codes[at] = vicinal_wait(&calls[at].request);
          if (at == 3 || at == 6) {
            calls[at].judge(codes[at], culprit);
          } else {
            SUCCEEDS(codes[at]);
            calls[at].verify();
          }
        }
      }
    }
    circle.meet();
  });
}

TEST(who_is_slow_to_leave_a_good_call_hears_nothing_of_a_later_fault) {
  if (world_size() < 2) testing::skip("needs 2 ranks");
  for (const char* strategy : {"direct", "aggregate"}) {
    const Circle circle(strategy, "shared");
    for (int number = 0; number < 10; number += 2) {
      Call good(circle, Form::alltoall, number, 1), bad(circle, Form::alltoall, number + 1, 1);
      SUCCEEDS(good.begin());
      const bool slow = circle.rank == 1;
      if (!slow) good.wait();
      int code = bad.begin(circle.rank == 0);
      if (!slow) {
        if (code == MPI_SUCCESS) code = vicinal_wait(&bad.request);
        bad.judge(code, 0);
      }
      // The slow rank makes progress without testing either call, until the other ranks have
      // failed.
      circle.meet();
      if (slow) {
        good.wait();
        bad.judge(vicinal_wait(&bad.request), 0);
      }
    }
  }
}

TEST(calls_of_nothing_keep_step) {
  if (world_size() < 2) testing::skip("needs 2 ranks");
  for_each_setting([](const std::string& strategy, const std::string& local) {
    const Circle circle(strategy, local);
    for (int number = 0; number < 20; ++number) {
      const Form form = number % 2 == 0 ? Form::alltoall : Form::allgather;
      Call call(circle, form, number, number % 3);
      const int culprit = around(number, circle.size);
      const bool fails = number % 5 == 4;
      const int code = call.run(fails && circle.rank == culprit);
      if (!fails) {
        SUCCEEDS(code);
        call.verify();
      } else if (call.count > 0) {
        call.judge(code, culprit);
      } else if (circle.rank == culprit) {
        FAILS(MPI_ERR_COUNT, code, "-3");
      }
    }
  });
}

TEST(a_start_that_fails_on_one_rank_fails_that_exchange_alone) {
  if (world_size() < 2) testing::skip("needs 2 ranks");
  const int rank = world_rank(), size = world_size();
  for (const char* strategy : {"direct", "aggregate", "split"}) {
    for (const char* local : {"shared", "messages"}) {
      const Duplicate comm;
      HaloHandle halo;
      const std::int64_t needed[] = {around(rank + 1, size), around(rank - 1, size)};
      SUCCEEDS(vicinal_halo_create(comm, rank, rank + 1, 2, needed,
                                   Hints{{"vicinal_strategy", strategy},
                                         {"vicinal_local", local},
                                         {"vicinal_regions", few_regions(size)}},
                                   &halo));
      for (int round = 0; round < 6; ++round) {
        const std::int64_t values = 1 + round % 2;
        const bool fails = round % 3 == 1;
        const int culprit = round % size;
        const std::vector<std::int64_t> own(2, rank * 100 + round);
        std::vector<std::int64_t> ghosts(4, -1);
        // An invalid number of values, of which no other rank knows.
        const std::int64_t given = fails && rank == culprit ? -1 : values;
        const int code = vicinal_halo_exchange(halo, own.data(), ghosts.data(), given, MPI_INT64_T);
        if (fails && rank == culprit) {
          FAILS(MPI_ERR_ARG, code, "positive");
        } else if (fails && (needed[0] == culprit || needed[1] == culprit)) {
          FAILS(MPI_ERR_OTHER, code, "failed on rank");
        } else if (!fails) {
          SUCCEEDS(code);
          for (int v = 0; v < values; ++v) {
            CHECK_EQUAL(ghosts[static_cast<std::size_t>(v)], needed[0] * 100 + round);
            CHECK_EQUAL(ghosts[static_cast<std::size_t>(values + v)], needed[1] * 100 + round);
          }
        }
      }
    }
  }
}

TEST(a_test_of_one_thing_progresses_everything) {
  // Even ranks test the first exchange to completion before the second, odd ranks the reverse.
  // Leaders may thus be testing another exchange.
  for (const char* local : {"shared", "messages"}) {
    const Duplicate comm;
    const int size = world_size(), rank = world_rank();
    const Shifts shifts(comm, {1, -1, 2, size / 2}, few_regions(size));
    Exchange first(shifts, "aggregate", local), second(shifts, "aggregate", local);
    for (int round = 0; round < 20; ++round) {
      first.start(round);
      second.start(round + 100);
      Exchange* order[] = {&first, &second};
      if (rank % 2 == 1) std::swap(order[0], order[1]);
      for (Exchange* exchange : order) {
        vicinal_request request = exchange->handle();
        int done = 0;
        while (done == 0) SUCCEEDS(vicinal_test(&request, &done));
        exchange->verify();
      }
    }
  }
}

}  // namespace vicinal::call_queue_tests
