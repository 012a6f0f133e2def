// Calls with counts in a loop: first straight, then by a plan with capacities, which reviews change. Whatever sizes do
// from call to call, each call brings what was sent, writes nowhere else, and a fault is that of one call.
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "collectives/review.hpp"
#include "world.hpp"

namespace vicinal {
namespace {

using namespace testing;

/// Room for so many bytes that ends where no memory is, so that a byte too many is a crash.
class Guarded {
 public:
  explicit Guarded(std::size_t bytes) {
    const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
    const std::size_t used = (bytes + page - 1) / page * page;
    length_ = used + page;
    void* const mapped =
        mmap(nullptr, length_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    CHECK(mapped != MAP_FAILED);
    pages_ = static_cast<std::byte*>(mapped);
    CHECK_EQUAL(mprotect(pages_ + used, page, PROT_NONE), 0);
    data_ = pages_ + used - bytes;
  }
  Guarded(Guarded&& other) noexcept
      : pages_(std::exchange(other.pages_, nullptr)), length_(other.length_), data_(other.data_) {}
  Guarded& operator=(Guarded&&) = delete;
  ~Guarded() {
    if (pages_ != nullptr) munmap(pages_, length_);
  }
  [[nodiscard]] std::int64_t* values() const { return reinterpret_cast<std::int64_t*>(data_); }

 private:
  std::byte* pages_ = nullptr;
  std::size_t length_ = 0;
  std::byte* data_ = nullptr;
};

/// How many values edge `twin` of those from one rank to another carries in a call.
using Sizes = std::function<int(int number, int from, int to, int twin)>;

/// Ranks in a circle, each with edges to those up to two places on, two to its next; and a graph of them.
struct Circle {
  int rank = world_rank();
  int size = world_size();
  Duplicate comm;
  std::vector<int> destinations{around(rank + 1, size), around(rank + 1, size),
                                around(rank + 2, size)};
  std::vector<int> sources{around(rank - 1, size), around(rank - 1, size), around(rank - 2, size)};
  GraphHandle graph;

  explicit Circle(const char* strategy = "aggregate", const char* local = "shared",
                  const char* in_flight = "4") {
    SUCCEEDS(create_graph(comm, sources, destinations,
                          Hints{{"vicinal_strategy", strategy},
                                {"vicinal_local", local},
                                {"vicinal_in_flight", in_flight},
                                {"vicinal_regions", few_regions(size)}},
                          &graph));
  }
  /// Which of the edges between its two ranks an edge is.
  [[nodiscard]] static int twin(const std::vector<int>& peers, std::size_t edge) {
    return static_cast<int>(
        std::count(peers.begin(), peers.begin() + static_cast<long>(edge), peers[edge]));
  }
  [[nodiscard]] bool hears(int other) const {
    return std::find(sources.begin(), sources.end(), other) != sources.end();
  }
};

std::int64_t value(int number, int from, int to, int twin, int i) {
  return (((std::int64_t{number} * 64 + from) * 64 + to) * 4 + twin) * 4096 + i;
}

enum class Form { alltoallv, alltoallw, allgatherv };
constexpr Form forms[] = {Form::alltoallv, Form::alltoallw, Form::allgatherv};

/// One call with buffers of its own, which end where no memory is.
struct Call {
  const Circle& circle;
  Form form;
  int number;
  std::vector<int> send_counts, send_places, receive_counts, receive_places;
  std::vector<MPI_Aint> send_offsets, receive_offsets;
  std::vector<MPI_Datatype> types = std::vector<MPI_Datatype>(3, MPI_INT64_T);
  std::optional<Guarded> sent, received;
  RequestHandle request;

  Call(const Circle& where, Form what, int call, const Sizes& sizes)
      : circle(where), form(what), number(call) {
    int out = 0, in = 0;
    for (std::size_t e = 0; e < 3; ++e) {
      const int to = circle.destinations[e], from = circle.sources[e];
      send_counts.push_back(size_of(sizes, circle.rank, to, Circle::twin(circle.destinations, e)));
      send_places.push_back(out);
      receive_counts.push_back(size_of(sizes, from, circle.rank, Circle::twin(circle.sources, e)));
      receive_places.push_back(in);
      send_offsets.push_back(out * 8);
      receive_offsets.push_back(in * 8);
      out += send_counts.back();
      in += receive_counts.back();
    }
    sent.emplace(static_cast<std::size_t>(out) * 8);
    received.emplace(static_cast<std::size_t>(in) * 8);
    for (std::size_t e = 0; e < 3; ++e) {
      for (int i = 0; i < send_counts[e]; ++i) {
        sent->values()[send_places[e] + i] =
            gathers() ? value(number, circle.rank, 0, 0, i)
                      : value(number, circle.rank, circle.destinations[e],
                              Circle::twin(circle.destinations, e), i);
      }
    }
    std::fill_n(received->values(), in, -1);
  }
  [[nodiscard]] bool gathers() const { return form == Form::allgatherv; }
  /// One block to all has one size.
  [[nodiscard]] int size_of(const Sizes& sizes, int from, int to, int twin) const {
    return gathers() ? sizes(number, from, 0, 0) : sizes(number, from, to, twin);
  }

  int begin(bool bad = false) {
    std::vector<int> counts = send_counts;
    if (bad) counts.front() = -3;
    vicinal_request* to = &request;
    switch (form) {
      case Form::alltoallv:
        return vicinal_ineighbor_alltoallv(sent->values(), counts.data(), send_places.data(),
                                           MPI_INT64_T, received->values(), receive_counts.data(),
                                           receive_places.data(), MPI_INT64_T, circle.graph, to);
      case Form::alltoallw:
        return vicinal_ineighbor_alltoallw(sent->values(), counts.data(), send_offsets.data(),
                                           types.data(), received->values(), receive_counts.data(),
                                           receive_offsets.data(), types.data(), circle.graph, to);
      case Form::allgatherv:
        return vicinal_ineighbor_allgatherv(sent->values(), counts.front(), MPI_INT64_T,
                                            received->values(), receive_counts.data(),
                                            receive_places.data(), MPI_INT64_T, circle.graph, to);
    }
    return MPI_ERR_INTERN;
  }
  int run() {
    if (form != Form::alltoallv) {
      const int code = begin();
      return code != MPI_SUCCESS ? code : vicinal_wait(&request);
    }
    return vicinal_neighbor_alltoallv(sent->values(), send_counts.data(), send_places.data(),
                                      MPI_INT64_T, received->values(), receive_counts.data(),
                                      receive_places.data(), MPI_INT64_T, circle.graph);
  }
  void verify() const {
    for (std::size_t e = 0; e < 3; ++e) {
      for (int i = 0; i < receive_counts[e]; ++i) {
        const int from = circle.sources[e], twin = Circle::twin(circle.sources, e);
        const std::int64_t expected =
            gathers() ? value(number, from, 0, 0, i) : value(number, from, circle.rank, twin, i);
        const std::int64_t found = received->values()[receive_places[e] + i];
        if (found == expected) continue;
        fail_check(__FILE__, __LINE__, "call ", number, ", form ", static_cast<int>(form),
                   ": element ", i, " of edge ", e, " is ", found, ", not ", expected);
      }
    }
  }
  void wait() {
    SUCCEEDS(vicinal_wait(&request));
    verify();
  }
};

/// The same on whoever asks, and different from call to call.
int random_size(int number, int from, int to, int twin) {
  const unsigned mixed =
      static_cast<unsigned>(((number * 37 + from) * 41 + to) * 43 + twin) * 2654435761U;
  return static_cast<int>((mixed >> 16U) % 40U);
}
int constant_size(int, int from, int to, int twin) { return 3 + (from + 2 * to + twin) % 5; }

void for_each_way(const std::function<void(const Circle&)>& test) {
  for (const char* strategy : {"aggregate", "automatic"}) {
    for (const char* local : {"shared", "messages"}) test(Circle(strategy, local));
  }
  test(Circle("split", "shared", "1"));
  test(Circle("two-step", "shared", "8"));
}

/// Calls in a loop, from the first until several reviews have been held.
void run_loop(const Circle& circle, Form form, const Sizes& sizes, int calls = 40) {
  for (int number = 0; number < calls; ++number) {
    Call call(circle, form, number, sizes);
    SUCCEEDS(call.run());
    call.verify();
  }
}

}  // namespace

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
        std::vector<std::int64_t>({0, 0}));  // of calls that all failed here
  record.note(sizes({8, 100}), nullptr);
  record.note(sizes({8, 40}), nullptr);
  CHECK(record.capacities(2) == std::vector<std::int64_t>({8, 125}));
  record.note(sizes({8, 200}), nullptr);
  CHECK_EQUAL(record.figures().too_large, 1);  // the first sight of a size is none
  CHECK_EQUAL(record.figures().pieces, 6);
  CHECK_EQUAL(record.figures().needed, 208);
  record.note(sizes({8, 1 << 20}), nullptr);
  CHECK(record.capacities(2) ==
        std::vector<std::int64_t>({8, 0}));  // that one takes a message of its own
  record.forget();
  const std::vector<std::int64_t> capacities{8, 125};
  record.note(sizes({9, 125}), &capacities);
  CHECK_EQUAL(record.figures().too_large, 1);
  CHECK_EQUAL(record.figures().pieces, 2);
}

TEST(counted_calls_are_reviewed_by_what_all_have_noted) {
  const auto verdict = [](std::int64_t too_large, std::int64_t needed, std::int64_t room, Way way) {
    return verdict_on({800, too_large, needed, room}, way);
  };
  CHECK(verdict(800, 1000, 0, Way::unknown) == Verdict::plan);
  CHECK(verdict(100, 1000, 0, Way::straight) == Verdict::plan);
  CHECK(verdict(101, 1000, 0, Way::straight) == Verdict::straight);
  CHECK(verdict(100, 1000, 2000, Way::planned) == Verdict::keep);
  CHECK(verdict(101, 1000, 2000, Way::planned) == Verdict::plan);
  CHECK(verdict(101, 1000, 2000, Way::planned_anew) == Verdict::straight);
  CHECK(verdict(0, 1000, 2001, Way::planned) == Verdict::plan);
  CHECK(verdict(0, 1000, 2001, Way::planned_anew) == Verdict::plan);
}

TEST(counted_calls_with_the_same_sizes) {
  for_each_way([](const Circle& circle) { run_loop(circle, Form::alltoallv, constant_size); });
}

TEST(counted_calls_whose_sizes_change_in_every_call) {
  for_each_way([](const Circle& circle) {
    for (const Form form : forms) run_loop(circle, form, random_size);
  });
}

TEST(counted_calls_of_two_sets_of_sizes_in_turn) {
  for_each_way([](const Circle& circle) {
    run_loop(circle, Form::alltoallv, [](int number, int from, int to, int twin) {
      return number % 2 == 0 ? constant_size(0, from, to, twin)
                             : 30 - constant_size(0, to, from, twin);
    });
  });
}

TEST(counted_calls_that_outgrow_their_plan_and_shrink_again) {
  for_each_way([](const Circle& circle) {
    run_loop(
        circle, Form::alltoallv,
        [](int number, int from, int to, int twin) {
          const int stage = number < 10 ? 1 : number < 30 ? 20 : number < 70 ? 0 : 2;
          return stage * constant_size(number, from, to, twin);
        },
        140);
  });
}

TEST(counted_calls_along_twin_edges_that_swap_sizes) {
  // Now one of them does not fit, now the other, now both.
  for_each_way([](const Circle& circle) {
    run_loop(circle, Form::alltoallv, [](int number, int, int, int twin) {
      if (number < 8) return 5;
      return (number + twin) % 3 == 0 ? 5 : 50 + number % 4 + twin;
    });
  });
}

TEST(counted_calls_with_one_edge_too_large_for_any_plan) {
  const Circle circle;
  run_loop(
      circle, Form::alltoallv,
      [&](int number, int from, int, int twin) {
        return from == 0 && twin == 1 ? 40000 + number : 4;
      },
      20);
}

TEST(counted_calls_of_ranks_without_data_of_their_own) {
  // Whoever leads has to pass on what others have.
  for_each_way([](const Circle& circle) {
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
  for_each_way([](const Circle& circle) {
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

TEST(a_counted_call_that_fails_is_that_call_alone) {
  if (world_size() < 3) testing::skip("needs 3 ranks");
  for_each_way([](const Circle& circle) {
    for (const Form form : forms) {
      // Sizes that fit in some calls and not in others, all in flight.
      std::vector<Call> calls;
      std::vector<int> codes;
      calls.reserve(48);
      const auto fails = [](int number) { return number % 5 == 3; };
      for (int number = 0; number < 48; ++number) {
        calls.emplace_back(circle, form, number, [](int call, int from, int to, int twin) {
          return 1 + random_size(call, from, to, twin);
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
          // Its data came with others' through the same leader, but each edge has a word of its own.
          SUCCEEDS(codes[at]);
          calls[at].verify();
        }
      }
    }
  });
}

TEST(counted_calls_whose_ends_differ_are_told) {
  if (world_size() < 3) testing::skip("needs 3 ranks");
  for (const char* strategy : {"aggregate", "direct"}) {
    const Circle circle(strategy);
    run_loop(circle, Form::alltoallv, constant_size, 9);
    // Less than is expected, more, more than there is room for; and less where more than that was expected.
    const std::pair<int, int> ends[] = {{2, 5}, {5, 2}, {90, 2}, {2, 90}, {90, 95}, {95, 90}};
    int number = 9;
    for (const auto& [sent, expected] : ends) {
      for (int good = 0; good < 2; ++good) {
        Call call(circle, Form::alltoallv, number++, [&](int, int from, int to, int twin) {
          if (good == 1 || from != 0 || to != 1 || twin != 0)
            return constant_size(0, from, to, twin);
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
      // Values with gaps, as many in each second call as do not fit.
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
    // The first review has begun, and calls wait for it.
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
  // Until a plan takes effect nobody is needed for others' data, and nothing waits for a review.
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

}  // namespace vicinal
