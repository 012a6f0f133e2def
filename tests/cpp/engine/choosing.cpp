// Planners that are measured, before the first execution or during the first ones. Data are right
// throughout, whatever ranks do meanwhile. Plans that lose are released.
#include <sys/mman.h>

#include <array>
#include <chrono>
#include <deque>
#include <memory>
#include <thread>

#include "api/shared.hpp"
#include "choose/contenders.hpp"
#include "choose/contest.hpp"
#include "choose/decisions.hpp"
#include "collectives/execution_request.hpp"
#include "heats.hpp"
#include "holdings.hpp"
#include "mpi/communicator.hpp"
#include "mpi/drive.hpp"
#include "tight_address_space.hpp"
#include "world.hpp"

namespace vicinal::choosing_tests {
namespace {

using namespace testing;

/// More executions than a contest needs to decide (contenders.cpp).
constexpr int enough = 210;

/// A persistent exchange whose planner is measured.
class Measured {
 public:
  Measured(const Shifts& shifts, const char* choice)
      : shifts_(shifts), send_(shifts.sending()), receive_(shifts.receiving()) {
    forget_decisions();
    SUCCEEDS(plan_exchange(send_, receive_, shifts.graph(), Hints{{"vicinal_choice", choice}},
                           &request_));
  }
  void start(int round) {
    round_ = round;
    shifts_.fill(send_, round);
    std::fill(receive_.data.begin(), receive_.data.end(), -1);
    SUCCEEDS(vicinal_start(&request_));
  }
  void wait() {
    SUCCEEDS(vicinal_wait(&request_));
    shifts_.verify(receive_, round_);
  }
  void test_to_the_end() {
    for (int done = 0; done == 0;) SUCCEEDS(vicinal_test(&request_, &done));
    shifts_.verify(receive_, round_);
  }
  void run(int round) {
    start(round);
    round % 2 == 0 ? wait() : test_to_the_end();
  }
  void free() { request_.free(); }

 private:
  const Shifts& shifts_;
  Edges send_, receive_;
  RequestHandle request_;
  int round_ = 0;
};

constexpr std::array choices{"measure", "adaptive"};

void sleep_ms(int milliseconds) {
  std::this_thread::sleep_for(std::chrono::milliseconds(milliseconds));
}

/// A halo on a ring, in which each rank sends its two values to both neighbors.
struct RingHalo {
  std::int64_t rank = world_rank();
  std::int64_t size = world_size();
  std::vector<std::int64_t> needed;
  HaloHandle halo;

  RingHalo(MPI_Comm comm, const char* choice, const char* in_flight) {
    for (const std::int64_t shift : {1, -1}) {
      const std::int64_t owner = (rank + shift + size) % size;
      needed.push_back(owner * 2);
      needed.push_back(owner * 2 + 1);
    }
    const Hints hints{{"vicinal_choice", choice},
                      {"vicinal_in_flight", in_flight},
                      {"vicinal_regions", few_regions(world_size())}};
    SUCCEEDS(vicinal_halo_create(comm, rank * 2, rank * 2 + 2, 4, needed.data(), hints, &halo));
  }
  [[nodiscard]] std::vector<std::int64_t> owned(int round) const {
    return {rank * 2000 + round, rank * 2000 + 1000 + round};
  }
  void verify(const std::vector<std::int64_t>& ghosts, int round) const {
    for (std::size_t i = 0; i < 4; ++i) CHECK_EQUAL(ghosts[i], needed[i] * 1000 + round);
  }
  void run(int round) {
    const auto values = owned(round);
    std::vector<std::int64_t> ghosts(4, -1);
    SUCCEEDS(vicinal_halo_exchange(halo, values.data(), ghosts.data(), 1, MPI_INT64_T));
    verify(ghosts, round);
  }
  void run_reverse() {
    std::vector<std::int64_t> values{1, 1};
    const std::vector<std::int64_t> ghosts(4, 1);
    SUCCEEDS(vicinal_halo_reverse(halo, values.data(), ghosts.data(), 1, MPI_INT64_T, MPI_SUM));
    for (const std::int64_t value : values) CHECK_EQUAL(value, 3);
  }
};

/// Ranks 0 and 1 only send, to ranks 2 and 3. They finish all measured executions before the
/// receivers begin, and then start one that needs the decision. Other ranks have no request.
struct TwoAhead {
  Duplicate comm;
  int rank = world_rank();
  bool sends = rank < 2, receives = rank == 2 || rank == 3;
  std::vector<int> senders{0, 1};
  GraphHandle graph;
  Edges send{std::vector<int>(sends ? 2 : 0, 1)}, receive{std::vector<int>(receives ? 2 : 0, 1)};
  RequestHandle request;

  TwoAhead() {
    if (world_size() < 4) testing::skip("needs 4 ranks");
    forget_decisions();
    const std::vector<int> none, receivers{2, 3};
    graph = graph_of(comm, receives ? senders : none, sends ? receivers : none, "blocks:2");
    if (!sends && !receives) return;
    SUCCEEDS(plan_exchange(send, receive, graph, Hints{{"vicinal_choice", "adaptive"}}, &request));
  }
};

}  // namespace

TEST(measured_exchanges_deliver) {
  for (const char* choice : choices) {
    for (const std::string& regions : {few_regions(world_size()), std::string("blocks:1"),
                                       std::string("round-robin:2"), std::string("blocks:3")}) {
      const Duplicate comm;
      const Shifts shifts(comm, {1, -2, 3, 0, 1}, regions);
      Measured exchange(shifts, choice);
      for (int round = 0; round < enough; ++round) exchange.run(round);
    }
  }
}

TEST(measured_exchanges_give_everything_back) {
  const Duplicate comm;
  const Shifts shifts(comm, {1, -2, 3}, few_regions(world_size()));
  const Holdings holdings(comm);
  for (const char* choice : choices) {
    // Some end while they are measured, or before the contest begins.
    for (const int rounds : {0, 1, 8, 9, 20, 23, 24, 25, 40, 64, 80, 81, enough}) {
      Measured exchange(shifts, choice);
      for (int round = 0; round < rounds; ++round) exchange.run(round);
    }
  }
  holdings.check_given_back();
}

TEST(measured_exchanges_wait_for_a_slow_rank) {
  for (const int slow : {0, world_size() - 1}) {
    const Duplicate comm;
    const Shifts shifts(comm, {1}, "blocks:1");
    Measured exchange(shifts, "adaptive");
    for (int round = 0; round < enough; ++round) {
      if (world_rank() == slow) sleep_ms(1);
      exchange.run(round);
    }
  }
}

TEST(a_start_that_waits_for_the_decision_does_not_hold_its_rank_up) {
  TwoAhead world;
  auto& [comm, rank, sends, receives, senders, graph, send, receive, request] = world;
  if (!sends && !receives) return;
  int held_up = -1;
  if (receives) MPI_Recv(&held_up, 1, MPI_INT, rank - 2, 0, comm, MPI_STATUS_IGNORE);
  for (int round = 0; round < enough; ++round) {
    for (std::int64_t& value : send.data) value = rank * 1000 + round;
    SUCCEEDS(vicinal_start(&request));
    const auto patience = std::chrono::steady_clock::now() + std::chrono::milliseconds(300);
    int done = 0;
    while (sends && held_up < 0 && done == 0 && std::chrono::steady_clock::now() < patience) {
      SUCCEEDS(vicinal_test(&request, &done));
    }
    if (sends && held_up < 0 && done == 0) {
      held_up = round;
      MPI_Send(&held_up, 1, MPI_INT, rank + 2, 0, comm);
    }
    SUCCEEDS(vicinal_wait(&request));
    for (std::size_t edge = 0; edge < receive.counts.size(); ++edge) {
      CHECK_EQUAL(receive.at(edge, 0), senders[edge] * 1000 + round);
    }
  }
  // At least two plans were measured, and no start waited before it needed the decision.
  CHECK(held_up >= Opening{}.opens());
}

TEST(a_postponed_start_fails_for_who_waits_whoever_saw_the_decision_fail) {
  // The receivers begin once both senders have a start that waits for the decision. A notice to
  // rank 0 then makes the start fail, outside vicinal_wait().
  TwoAhead world;
  auto& [comm, rank, sends, receives, senders, graph, send, receive, request] = world;
  if (!sends && !receives) return;
  const auto& begun =
      static_cast<const ExecutionRequest&>(*c_api::find(static_cast<vicinal_request>(request)));
  const auto is_over = [&] {
    const auto patience = std::chrono::steady_clock::now() + std::chrono::milliseconds(300);
    while (begun.in_flight() && std::chrono::steady_clock::now() < patience) vicinal_progress();
    return !begun.in_flight();
  };
  if (sends) {
    int done = 1;
    for (int round = 0; round < enough && done != 0; ++round) {
      SUCCEEDS(vicinal_start(&request));
      // Earlier, the receivers are only slow.
      const bool may_be_postponed = round >= Opening{}.opens();
      const auto patience = std::chrono::steady_clock::now() + std::chrono::seconds(1);
      do {
        SUCCEEDS(vicinal_test(&request, &done));
      } while (done == 0 && !(may_be_postponed && std::chrono::steady_clock::now() > patience));
    }
    MPI_Sendrecv(nullptr, 0, MPI_INT, 1 - rank, 0, nullptr, 0, MPI_INT, 1 - rank, 0, comm,
                 MPI_STATUS_IGNORE);
    if (rank == 0) {
      const auto communicator = mpi::Communicator::of(comm);
      const mpi::ConversationKey key = begun.plan().key();
      mpi::give_notice(*communicator, {key.graph, 0, 0}, 0, {0});
    }
    const bool was_over = is_over();
    const int code = vicinal_wait(&request);
    MPI_Send(nullptr, 0, MPI_INT, rank + 2, 0, comm);
    CHECK_EQUAL(done, 0);
    CHECK(!was_over);  // its owner had not learned of it
    CHECK(code != MPI_SUCCESS);
    CHECK(vicinal_start(&request) != MPI_SUCCESS);
    return;
  }
  MPI_Recv(nullptr, 0, MPI_INT, rank - 2, 0, comm, MPI_STATUS_IGNORE);
  int code = MPI_SUCCESS;
  for (int round = 0; round < enough && code == MPI_SUCCESS; ++round) {
    code = vicinal_start(&request);
    if (code == MPI_SUCCESS) code = vicinal_wait(&request);
  }
  CHECK(code != MPI_SUCCESS);
}

TEST(many_measured_exchanges_at_once) {
  const Duplicate comm;
  const Shifts near(comm, {1, -1, 2}, few_regions(world_size()), 1);
  const Shifts far(comm, {3, 0, 5, 3}, "round-robin:2", 2);
  std::deque<Measured> exchanges;
  exchanges.emplace_back(near, "adaptive");
  exchanges.emplace_back(far, "adaptive");
  exchanges.emplace_back(near, "measure");
  exchanges.emplace_back(near, "adaptive");
  for (int round = 0; round < enough; ++round) {
    const auto shift = static_cast<std::size_t>(world_rank() + round) % exchanges.size();
    for (std::size_t i = 0; i < exchanges.size(); ++i) {
      exchanges[(i + shift) % exchanges.size()].start(round);
    }
    for (Measured& exchange : exchanges) exchange.wait();
    if (round == 30) exchanges.pop_back();  // one is freed while it is measured
  }
}

TEST(measured_exchanges_of_some_ranks) {
  // Even ranks exchange, odd ranks have no edges. The last rank is a component of its own.
  const int rank = world_rank(), size = world_size();
  const Duplicate comm;
  std::vector<int> peers;
  for (int other = 0; other < size - 1; other += 2) {
    if (rank % 2 == 0 && rank < size - 1) peers.push_back(other);
  }
  if (rank == size - 1) peers = {rank};
  const GraphHandle graph = graph_of(comm, peers, peers, few_regions(size));
  for (const char* choice : choices) {
    Edges send(std::vector<int>(peers.size(), 1)), receive(std::vector<int>(peers.size(), 1));
    RequestHandle request;
    SUCCEEDS(plan_exchange(send, receive, graph, Hints{{"vicinal_choice", choice}}, &request));
    for (int round = 0; round < (rank == size - 1 ? 10 : enough); ++round) {
      for (std::size_t edge = 0; edge < peers.size(); ++edge) send.at(edge, 0) = rank + round;
      SUCCEEDS(vicinal_start(&request));
      SUCCEEDS(vicinal_wait(&request));
      for (std::size_t edge = 0; edge < peers.size(); ++edge) {
        CHECK_EQUAL(receive.at(edge, 0), std::int64_t{peers[edge] + round});
      }
    }
  }
}

TEST(measured_halos_in_flight) {
  for (const char* choice : choices) {
    for (const int in_flight : {1, 3, 8}) {
      const Duplicate comm;
      RingHalo ring(comm, choice, std::to_string(in_flight).c_str());
      const auto many = static_cast<std::size_t>(in_flight);
      std::vector<std::vector<std::int64_t>> owned(many), ghosts(many);
      std::vector<vicinal_request> requests(many);
      const auto last = latest_decision({8, in_flight}, most_timed) + 3 * in_flight;
      for (int begun = 0; begun < last; begun += in_flight) {
        for (std::size_t i = 0; i < many; ++i) {
          owned[i] = ring.owned(begun % 500 + static_cast<int>(i));
          ghosts[i].assign(4, -1);
          SUCCEEDS(vicinal_halo_start(ring.halo, owned[i].data(), ghosts[i].data(), 1, MPI_INT64_T,
                                      &requests[i]));
        }
        for (std::size_t i = many; i-- > 0;) {
          SUCCEEDS(vicinal_wait(&requests[i]));
          ring.verify(ghosts[i], begun % 500 + static_cast<int>(i));
        }
        if (begun % 5 == 0) ring.run_reverse();
      }
    }
  }
}

TEST(faults_in_measured_exchanges_are_those_of_one) {
  if (world_size() < 2) testing::skip("needs 2 ranks");
  const Duplicate comm;
  const int failed_rank = world_size() - 1;
  for (const char* choice : choices) {
    RingHalo ring(comm, choice, "1");
    for (int round = 0; round < enough; ++round) {
      const bool faulty =
          round == 0 || round == 8 || round == 24 || round == 33 || round == 64 || round == 100;
      if (!faulty) {
        ring.run(round);
        continue;
      }
      const auto values = ring.owned(round);
      std::vector<std::int64_t> ghosts(4, -1);
      const void* const given = ring.rank == failed_rank ? nullptr : values.data();
      const int code = vicinal_halo_exchange(ring.halo, given, ghosts.data(), 1, MPI_INT64_T);
      const bool near = (ring.rank + 1) % ring.size == failed_rank ||
                        (failed_rank + 1) % ring.size == ring.rank || ring.rank == failed_rank;
      if (near) CHECK_EQUAL(code, ring.rank == failed_rank ? MPI_ERR_BUFFER : MPI_ERR_OTHER);
    }
  }
}

TEST(counts_that_differ_are_told_before_anything_is_measured) {
  if (world_size() < 2) testing::skip("needs 2 ranks");
  const int rank = world_rank(), size = world_size();
  for (const char* choice : choices) {
    const Duplicate comm;
    const GraphHandle graph =
        graph_of(comm, {around(rank - 1, size)}, {around(rank + 1, size)}, few_regions(size));
    for (const int wrong : {1, 0}) {
      Edges send({rank == 0 ? 2 + wrong : 2}), receive({2});
      RequestHandle request;
      const Hints hints{{"vicinal_choice", choice}};
      if (wrong == 0) {
        SUCCEEDS(plan_exchange(send, receive, graph, hints, &request));
        SUCCEEDS(vicinal_start(&request));
        SUCCEEDS(vicinal_wait(&request));
      } else {
        const bool concerned = rank <= 1;
        FAILS(concerned ? MPI_ERR_COUNT : MPI_ERR_OTHER,
              plan_exchange(send, receive, graph, hints, &request), concerned ? "rank 0" : "");
      }
    }
  }
}

// The sanitizers allocate address space of their own at any time.
#if !defined(SANITIZED)
TEST(a_rank_that_cannot_try_plans_out_leaves_the_choice_to_automatic) {
  // One block of each rank lies far from the others, and memory for another such array is missing.
  const int rank = world_rank(), size = world_size();
  const Duplicate comm;
  const std::size_t far = std::size_t{1} << 31U;
  void* const memory = mmap(nullptr, far + 4096, PROT_READ | PROT_WRITE,
                            MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED) testing::skip("needs address space");
  const std::vector<int> sources{around(rank - 1, size), around(rank + 1, size)};
  const std::vector<int> destinations{around(rank + 1, size), around(rank - 1, size)};
  const GraphHandle graph = graph_of(comm, sources, destinations, few_regions(size));
  const std::vector<std::int64_t> sent{rank, rank + 100};
  const std::vector<int> counts{1, 1}, places{0, 1}, far_places{0, 1 << 28};
  RequestHandle request;
  {
    std::unique_ptr<TightAddressSpace> tight;
    if (rank == size - 1) tight = std::make_unique<TightAddressSpace>(std::int64_t{1} << 30);
    SUCCEEDS(vicinal_neighbor_alltoallv_init(
        sent.data(), counts.data(), places.data(), MPI_INT64_T, memory, counts.data(),
        far_places.data(), MPI_INT64_T, graph, Hints{{"vicinal_choice", "measure"}}, &request));
  }
  SUCCEEDS(vicinal_start(&request));
  SUCCEEDS(vicinal_wait(&request));
  const auto* const received = static_cast<const std::int64_t*>(memory);
  CHECK_EQUAL(received[0], std::int64_t{sources[0]});
  CHECK_EQUAL(received[1 << 28], std::int64_t{sources[1] + 100});
  request.free();
  munmap(memory, far + 4096);
}
#endif

}  // namespace vicinal::choosing_tests
