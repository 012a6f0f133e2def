// Alltoallvs over a communicator: all forms, every store-and-forward planner with all radices, and
// faults. See family.cpp for other operations on complete graphs.
#include <algorithm>
#include <memory>
#include <numeric>
#include <string>
#include <vector>

#include "world.hpp"

namespace vicinal::alltoallv_tests {
namespace {

using namespace testing;

constexpr int forms = 6;  // blocking, nonblocking and persistent, each with both types of counts

enum class Buffers : std::uint8_t { apart, in_place };

/// An alltoallv with its own sizes, which checks itself.
class Alltoallv {
 public:
  /// In place, each rank receives as much from a peer as it sends there. An element is every
  /// `stride`-th int.
  Alltoallv(MPI_Comm comm, int salt, Buffers buffers = Buffers::apart, int stride = 1)
      : comm_(comm), salt_(salt), in_place_(buffers == Buffers::in_place), stride_(stride) {
    SUCCEEDS(
        MPI_Type_create_resized(MPI_INT, 0, stride * static_cast<MPI_Aint>(sizeof(int)), &type_));
    SUCCEEDS(MPI_Type_commit(&type_));
    const int rank = rank_in(comm);
    for (int peer = 0; peer < size_of(comm); ++peer) {
      add(send_, count(rank, peer));
      add(receive_, count(peer, rank));
    }
    sent_.assign(at(stride * send_.end) + 1, -9);
    received_.assign(at(stride * receive_.end) + 1, -1);
  }
  Alltoallv(const Alltoallv&) = delete;
  Alltoallv& operator=(const Alltoallv&) = delete;
  ~Alltoallv() { MPI_Type_free(&type_); }

  void fill(int round) {
    round_ = round;
    received_.assign(received_.size(), -1);
    std::vector<int>& sent = in_place_ ? received_ : sent_;
    for (std::size_t peer = 0; peer < send_.counts.size(); ++peer) {
      for (int i = 0; i < send_.counts[peer]; ++i) {
        sent[at(stride_ * (send_.places[peer] + i))] =
            value(rank_in(comm_), static_cast<int>(peer), i);
      }
    }
  }

  /// Runs one form to completion; a persistent form starts the request that init() made.
  void run(int form, vicinal_request* request) {
    switch (form) {
      case 0: SUCCEEDS(with_counts(vicinal_alltoallv, comm_)); return;
      case 1: SUCCEEDS(with_large_counts(vicinal_alltoallv_c, comm_)); return;
      case 2: SUCCEEDS(with_counts(vicinal_ialltoallv, comm_, request)); break;
      case 3: SUCCEEDS(with_large_counts(vicinal_ialltoallv_c, comm_, request)); break;
      default: SUCCEEDS(vicinal_start(request));
    }
    SUCCEEDS(vicinal_wait(request));
  }

  void begin(vicinal_request* request) {
    SUCCEEDS(with_counts(vicinal_ialltoallv, comm_, request));
  }

  int init(int form, MPI_Info info, vicinal_request* request) {
    if (form == 4) return with_counts(vicinal_alltoallv_init, comm_, info, request);
    return with_large_counts(vicinal_alltoallv_init_c, comm_, info, request);
  }

  void verify(const std::string& what) const {
    std::vector<int> expected(received_.size(), -1);
    for (std::size_t peer = 0; peer < receive_.counts.size(); ++peer) {
      for (int i = 0; i < receive_.counts[peer]; ++i) {
        expected[at(stride_ * (receive_.places[peer] + i))] =
            value(static_cast<int>(peer), rank_in(comm_), i);
      }
    }
    if (received_ != expected) {
      fail_check(__FILE__, __LINE__, what, ", salt ", salt_, ", round ", round_, ": wrong values");
    }
  }

  /// Expects one element more from `peer` than it sends.
  void spoil(int peer) {
    ++receive_.counts[at(peer)];
    ++receive_.large[at(peer)];
  }

 private:
  struct Side {
    std::vector<int> counts, places;
    std::vector<MPI_Count> large;
    std::vector<MPI_Aint> far;
    int end = 0;
  };

  /// In place, the send arguments that the library ignores are null.
  template <class Function, class... Rest>
  int with_counts(Function function, Rest... rest) {
    if (in_place_) {
      return function(MPI_IN_PLACE, nullptr, nullptr, MPI_DATATYPE_NULL, received_.data(),
                      receive_.counts.data(), receive_.places.data(), type_, rest...);
    }
    return function(sent_.data(), send_.counts.data(), send_.places.data(), type_, received_.data(),
                    receive_.counts.data(), receive_.places.data(), type_, rest...);
  }
  template <class Function, class... Rest>
  int with_large_counts(Function function, Rest... rest) {
    if (in_place_) {
      return function(MPI_IN_PLACE, nullptr, nullptr, MPI_DATATYPE_NULL, received_.data(),
                      receive_.large.data(), receive_.far.data(), type_, rest...);
    }
    return function(sent_.data(), send_.large.data(), send_.far.data(), type_, received_.data(),
                    receive_.large.data(), receive_.far.data(), type_, rest...);
  }

  void add(Side& side, int count) const {
    side.counts.push_back(count);
    side.large.push_back(count);
    side.places.push_back(side.end);
    side.far.push_back(side.end);
    side.end += count + salt_ % 2;  // with or without gaps
  }
  static std::size_t at(int place) { return static_cast<std::size_t>(place); }
  [[nodiscard]] int count(int from, int to) const {
    return in_place_ ? (from + to + 3 * from * to + salt_) % 5 : (from * 7 + to * 3 + salt_) % 5;
  }
  [[nodiscard]] int value(int from, int to, int i) const {
    return ((from * 100 + to) * 10 + i) * 1000 + salt_ * 10 + round_;
  }

  MPI_Comm comm_;
  int salt_;
  bool in_place_;
  int stride_;
  MPI_Datatype type_ = MPI_DATATYPE_NULL;
  int round_ = 0;
  Side send_, receive_;
  std::vector<int> sent_, received_;
};

}  // namespace

TEST(alltoallv_over_a_communicator_in_all_forms) {
  const Duplicate comm;
  SUCCEEDS(vicinal_set_regions(comm, few_regions(world_size()).c_str()));
  for (int form = 0; form < forms; ++form) {
    Alltoallv exchange(comm, form);
    RequestHandle request;
    if (form >= 4) SUCCEEDS(exchange.init(form, MPI_INFO_NULL, &request));
    // Enough rounds for calls to use a plan.
    for (int round = 1; round <= 12; ++round) {
      exchange.fill(round);
      exchange.run(form, &request);
      exchange.verify("form " + std::to_string(form));
    }
  }
}

TEST(alltoallv_in_place_in_all_forms) {
  const Duplicate comm;
  SUCCEEDS(vicinal_set_regions(comm, few_regions(world_size()).c_str()));
  for (int form = 0; form < forms; ++form) {
    for (const int stride : {1, 2}) {
      Alltoallv exchange(comm, form, Buffers::in_place, stride);
      RequestHandle request;
      if (form >= 4) SUCCEEDS(exchange.init(form, MPI_INFO_NULL, &request));
      for (int round = 1; round <= 12; ++round) {
        exchange.fill(round);
        exchange.run(form, &request);
        exchange.verify("in place, form " + std::to_string(form));
      }
    }
  }
}

TEST(alltoallv_in_place_by_every_planner) {
  const Duplicate comm;
  SUCCEEDS(vicinal_set_regions(comm, few_regions(world_size()).c_str()));
  for (const char* planner :
       {"direct", "nearest-first", "aggregate", "split", "two-step", "tuna", "tuna-hierarchical"}) {
    Alltoallv exchange(comm, 2, Buffers::in_place);
    RequestHandle request;
    SUCCEEDS(
        exchange.init(4, Hints{{"vicinal_strategy", planner}, {"vicinal_verify", "1"}}, &request));
    for (int round = 1; round <= 3; ++round) {
      exchange.fill(round);
      exchange.run(4, &request);
      exchange.verify(std::string("in place, ") + planner);
    }
  }
}

TEST(alltoallv_in_place_of_blocks_too_large_to_be_sent_at_once) {
  // MPI reads such blocks in place once the peer is ready, while the peer's block goes to the same
  // place.
  const Duplicate comm;
  const int rank = world_rank(), size = world_size(), count = 1 << 17;
  const std::vector<int> counts(static_cast<std::size_t>(size), count);
  std::vector<int> places, blocks(counts.size() * static_cast<std::size_t>(count)),
      expected(blocks.size());
  for (int peer = 0; peer < size; ++peer) places.push_back(peer * count);
  RequestHandle request;
  SUCCEEDS(vicinal_alltoallv_init(
      MPI_IN_PLACE, nullptr, nullptr, MPI_DATATYPE_NULL, blocks.data(), counts.data(),
      places.data(), MPI_INT, comm,
      Hints{{"vicinal_strategy", "direct"}, {"vicinal_local", "messages"}}, &request));
  for (int round = 1; round <= 3; ++round) {
    for (int peer = 0; peer < size; ++peer) {
      std::fill_n(blocks.begin() + peer * count, count, 1000 * round + 100 * rank + peer);
      std::fill_n(expected.begin() + peer * count, count, 1000 * round + 100 * peer + rank);
    }
    SUCCEEDS(vicinal_start(&request));
    SUCCEEDS(vicinal_wait(&request));
    CHECK(blocks == expected);
  }
}

TEST(alltoallv_in_place_in_many_calls_at_once) {
  const Duplicate comm;
  constexpr int calls = 5;
  for (int round = 1; round <= 4; ++round) {
    std::vector<std::unique_ptr<Alltoallv>> exchanges;
    std::vector<vicinal_request> requests(calls, VICINAL_REQUEST_NULL);
    for (int i = 0; i < calls; ++i) {
      exchanges.push_back(std::make_unique<Alltoallv>(comm, i, Buffers::in_place, 1 + i % 2));
      exchanges.back()->fill(round);
      exchanges.back()->begin(&requests[static_cast<std::size_t>(i)]);
    }
    SUCCEEDS(vicinal_waitall(calls, requests.data()));
    for (const auto& exchange : exchanges) exchange->verify("one of many in place");
  }
}

TEST(alltoallv_in_place_on_some_ranks_only) {
  const Duplicate comm;
  // Blocks of one size, so that other ranks see no difference between the two variants.
  const int rank = world_rank(), size = world_size();
  const std::vector<int> ones(static_cast<std::size_t>(size), 1);
  std::vector<int> places(ones.size());
  std::iota(places.begin(), places.end(), 0);
  for (int round = 0; round < 12; ++round) {
    std::vector<int> sent(ones.size()), received(ones.size(), -1), expected(ones.size());
    for (int peer = 0; peer < size; ++peer) {
      sent[static_cast<std::size_t>(peer)] = 100 * rank + peer + round;
      expected[static_cast<std::size_t>(peer)] = 100 * peer + rank + round;
    }
    const bool in_place = (rank + round) % 2 == 0;
    if (in_place) received = sent;
    SUCCEEDS(vicinal_alltoallv(in_place ? MPI_IN_PLACE : sent.data(), ones.data(), places.data(),
                               MPI_INT, received.data(), ones.data(), places.data(), MPI_INT,
                               comm));
    CHECK(received == expected);
  }
}

TEST(alltoallv_is_stored_and_forwarded_with_all_radices) {
  const int size = world_size();
  for (const char* regions : {"blocks:1", "blocks:2", "blocks:3", "round-robin:2", "node"}) {
    const Duplicate comm;
    SUCCEEDS(vicinal_set_regions(comm, regions));
    for (const char* planner : {"tuna", "tuna-hierarchical"}) {
      for (int radix = 0; radix <= std::min(size + 1, 9); ++radix) {
        if (radix == 1) continue;
        Alltoallv exchange(comm, radix);
        RequestHandle request;
        SUCCEEDS(exchange.init(4,
                               Hints{{"vicinal_strategy", planner},
                                     {"vicinal_radix", std::to_string(radix)},
                                     {"vicinal_verify", "1"},
                                     {"vicinal_local", radix % 2 == 0 ? "shared" : "messages"}},
                               &request));
        for (int round = 1; round <= 3; ++round) {
          exchange.fill(round);
          exchange.run(4, &request);
          exchange.verify(std::string(planner) + ", " + regions + ", radix " +
                          std::to_string(radix));
        }
      }
    }
  }
}

TEST(alltoallv_with_counts_that_differ_is_told_on_both_ends_and_to_all) {
  const int size = world_size(), rank = world_rank();
  if (size < 2) skip("needs 2 ranks");
  const Duplicate comm;
  for (const char* planner : {"tuna", "tuna-hierarchical", "automatic"}) {
    Alltoallv exchange(comm, 1);
    if (rank == size - 1) exchange.spoil(0);
    RequestHandle request;
    const int code = exchange.init(4, Hints{{"vicinal_strategy", planner}}, &request);
    CHECK_EQUAL(code, rank == 0 || rank == size - 1 ? MPI_ERR_COUNT : MPI_ERR_OTHER);
    CHECK(static_cast<vicinal_request>(request) == nullptr);
    if (code != MPI_ERR_COUNT) continue;
    const std::string expected =
        "the counts of the edge from rank 0 to rank " + std::to_string(size - 1) + " differ";
    CHECK(std::string(vicinal_error_message()).find(expected) != std::string::npos);
  }
  Alltoallv after(comm, 2);
  after.fill(1);
  after.run(0, nullptr);
  after.verify("after faults");
}

TEST(alltoallv_refuses_what_cannot_be) {
  const Duplicate comm;
  const auto size = static_cast<std::size_t>(world_size());
  std::vector<int> ones(size, 1), places(size), received(size);
  for (std::size_t i = 0; i < size; ++i) places[i] = static_cast<int>(i);
  RequestHandle request;
  FAILS(MPI_ERR_INFO_VALUE,
        Alltoallv(comm, 0).init(4, Hints{{"vicinal_regions", "blocks:1"}}, &request),
        "for a collective over a communicator");
  FAILS(MPI_ERR_BUFFER,
        vicinal_alltoallv_init(received.data(), ones.data(), places.data(), MPI_INT, MPI_IN_PLACE,
                               ones.data(), places.data(), MPI_INT, comm, MPI_INFO_NULL, &request),
        "MPI_IN_PLACE was given for the receive buffer");
  std::vector<int> negative(ones);
  negative.front() = -1;
  FAILS(MPI_ERR_COUNT,
        vicinal_alltoallv(MPI_IN_PLACE, nullptr, nullptr, MPI_DATATYPE_NULL, received.data(),
                          negative.data(), places.data(), MPI_INT, comm),
        "recvcounts[0] is -1");
  FAILS(MPI_ERR_INFO_VALUE, Alltoallv(comm, 0).init(4, Hints{{"vicinal_radix", "1"}}, &request),
        "vicinal_radix is '1', but 0, or a whole number from 2 to 1048576 is expected");
}

TEST(what_is_not_between_all_ranks_is_not_forwarded) {
  const Duplicate comm;
  const int rank = world_rank(), size = world_size();
  const std::vector<int> before{around(rank - 1, size)}, after{around(rank + 1, size)};
  const Hints hints{{"vicinal_strategy", "tuna"}};
  GraphHandle graph, plain;
  // set for the graph: falls back to automatic
  SUCCEEDS(create_graph(comm, before, after, hints, &graph));
  SUCCEEDS(create_graph(comm, before, after, Hints{}, &plain));
  int received = -1;
  SUCCEEDS(vicinal_neighbor_alltoall(&rank, 1, MPI_INT, &received, 1, MPI_INT, graph));
  CHECK_EQUAL(received, before.front());
  RequestHandle request;
  FAILS(MPI_ERR_INFO_VALUE,
        vicinal_neighbor_alltoall_init(&rank, 1, MPI_INT, &received, 1, MPI_INT, plain, hints,
                                       &request),
        "'tuna' serves exchanges over a whole communicator only");
}

}  // namespace vicinal::alltoallv_tests
