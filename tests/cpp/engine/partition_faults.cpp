// Faults in partitioned exchanges, and the ranks that learn of them.
#include <memory>
#include <numeric>
#include <ostream>
#include <sstream>

#include "api/shared.hpp"
#include "collectives/graph.hpp"
#include "collectives/request.hpp"
#include "execute/agreed_plan.hpp"
#include "negotiate/planner.hpp"
#include "partitioned.hpp"
#include "progress/activity.hpp"
#include "progress/dump.hpp"

namespace vicinal::partition_faults_tests {

using namespace testing;

TEST(partitions_that_cannot_be_marked) {
  const Duplicate comm;
  Partitioned exchange(comm, {1}, few_regions(world_size()));
  exchange.send_partitions = {3};
  RequestHandle request, whole;
  SUCCEEDS(exchange.init(MPI_INFO_NULL, &request));
  SUCCEEDS(plan_exchange(exchange.send, exchange.receive, exchange.graph(), MPI_INFO_NULL, &whole));
  int flag = 0;
  FAILS(MPI_ERR_REQUEST, vicinal_pready(request, 0, 0), "is not in flight; start it first");
  FAILS(MPI_ERR_REQUEST, vicinal_pready(whole, 0, 0), "the request has no partitions");
  FAILS(MPI_ERR_REQUEST, vicinal_parrived(whole, 0, 0, &flag), "the request has no partitions");
  for (int round = 0; round < 3; ++round) {
    SUCCEEDS(vicinal_start(&request));
    FAILS(MPI_ERR_ARG, vicinal_pready(request, 0, 3), "partition 3 of neighbor 0 was given, but");
    FAILS(MPI_ERR_ARG, vicinal_pready(request, 0, -1), "partition -1 of neighbor 0");
    FAILS(MPI_ERR_ARG, vicinal_pready(request, 1, 0), "neighbor 1 was given, but there are 1");
    FAILS(MPI_ERR_ARG, vicinal_pready(request, -1, 0), "neighbor -1 was given");
    FAILS(MPI_ERR_ARG, vicinal_pready_range(request, 0, 2, 1), "must not come after the last");
    FAILS(MPI_ERR_ARG, vicinal_parrived(request, 0, 99, &flag), "partition 99 of neighbor 0");
    FAILS(MPI_ERR_ARG, vicinal_pready_list(request, 0, -1, nullptr), "must not be negative");
    SUCCEEDS(vicinal_pready(request, 0, 1));
    FAILS(MPI_ERR_REQUEST, vicinal_pready(request, 0, 1),
          "partition 1 to neighbor 0 was marked ready twice");
    SUCCEEDS(vicinal_test(&request, &flag));
    CHECK_EQUAL(flag, 0);
    FAILS(MPI_ERR_REQUEST, vicinal_start(&request),
          "partition 0 to neighbor 0 and 1 others have not been marked ready");
    SUCCEEDS(vicinal_pready(request, 0, 0));
    SUCCEEDS(exchange.make(request, 0, 2, round));
    SUCCEEDS(vicinal_wait(&request));
  }
}

TEST(what_waits_for_partitions_says_so) {
  const Duplicate comm;
  Partitioned exchange(comm, {0, 1}, few_regions(world_size()));
  exchange.send_partitions = {3, 2};
  RequestHandle request;
  SUCCEEDS(exchange.init(MPI_INFO_NULL, &request));
  const auto describe = [&](bool in_dump) {
    std::ostringstream text;
    if (in_dump) {
      describe_pending(text);
    } else {
      c_api::find(static_cast<vicinal_request>(request))->name_awaited(text);
    }
    return text.str();
  };
  const auto says = [&](const char* part) {
    // The text may lack `part` while a progress thread works on the execution, so this retries.
    constexpr int tries = 100'000;
    for (const bool in_dump : {false, true}) {
      std::string text;
      for (int i = 0; i < tries && text.find(part) == std::string::npos; ++i) {
        text = describe(in_dump);
        std::this_thread::yield();
      }
      if (text.find(part) != std::string::npos) continue;
      static_cast<void>(vicinal_pready_range(request, 0, 0, 2));
      static_cast<void>(vicinal_pready_range(request, 1, 0, 1));
      fail_check(__FILE__, __LINE__, "\"", text, "\" is without \"", part, '"');
    }
  };
  SUCCEEDS(vicinal_start(&request));
  says("partition 0 to neighbor 0 and 4 others have not been marked ready");
  SUCCEEDS(vicinal_pready_range(request, 0, 0, 2));
  says("partition 0 to neighbor 1 and 1 others have not been marked ready");
  SUCCEEDS(vicinal_pready(request, 1, 0));
  says("partition 1 to neighbor 1 has not been marked ready");
  SUCCEEDS(vicinal_pready(request, 1, 1));
  SUCCEEDS(vicinal_wait(&request));
}

TEST(partitions_that_cannot_be_are_told_to_all) {
  const int size = world_size(), rank = world_rank();
  const Duplicate comm;
  Partitioned good(comm, {1, -1, 0}, few_regions(size));
  const bool odd = rank == size - 1;
  for (const char* strategy : {"direct", "aggregate", "automatic"}) {
    const Hints hints{{"vicinal_strategy", strategy}};
    RequestHandle request;
    const auto refused = [&](int error_class, const char* part) {
      FAILS(odd ? error_class : MPI_ERR_OTHER, good.init(hints, &request), odd ? part : "on rank");
    };
    const auto spoil = [&](int& number, int wrong, const char* part) {
      const int right = number;
      if (odd) number = wrong;
      refused(MPI_ERR_COUNT, part);
      number = right;
    };
    spoil(good.send_partitions[1], 0, "the number of send partitions of edge 1 is 0");
    spoil(good.receive_partitions[2], -3, "the number of receive partitions of edge 2 is -3");
    const auto& counts = good.send.counts;
    const auto some = std::find_if(counts.begin(), counts.end(), [](int it) { return it > 0; });
    spoil(good.send_partitions[static_cast<std::size_t>(some - counts.begin())], 7,
          "which does not divide into 7 equal partitions");
    SUCCEEDS(good.init(hints, &request));
    SUCCEEDS(vicinal_start(&request));
    good.make_all(request, 1);
    SUCCEEDS(vicinal_wait(&request));
    good.verify_all(1);
  }
}

TEST(totals_of_partitions_that_differ_are_told_at_both_ends) {
  const int size = world_size(), rank = world_rank();
  if (size < 2) skip("needs 2 ranks");
  const Duplicate comm;
  const GraphHandle graph =
      graph_of(comm, {around(rank - 1, size)}, {around(rank + 1, size)}, few_regions(size));
  for (const char* strategy : {"direct", "aggregate"}) {
    std::array<int, 12> sent{}, received{};
    const int place = 0, six = 6, four = 4, count = rank == 0 ? 12 : 6;
    RequestHandle request;
    const Hints hints{{"vicinal_strategy", strategy}};
    const int expected = rank < 2 ? MPI_ERR_COUNT : MPI_ERR_OTHER;
    FAILS(expected,
          vicinal_neighbor_alltoallv_partitioned_init(
              sent.data(), &count, &place, rank == 0 ? &four : &six, MPI_INT, received.data(), &six,
              &place, &six, MPI_INT, graph, hints, &request),
          rank < 2 ? "rank 0 sends 48 bytes, but rank 1 expects 24" : "on rank");
  }
}

TEST(exchanges_in_partitions_and_as_a_whole_do_not_meet) {
  const int size = world_size();
  if (size < 2) skip("needs 2 ranks");
  const Duplicate comm;
  Partitioned exchange(comm, {1, -1}, few_regions(size));
  RequestHandle request;
  const int code = world_rank() == size - 1
                       ? plan_exchange(exchange.send, exchange.receive, exchange.graph(),
                                       MPI_INFO_NULL, &request)
                       : exchange.init(MPI_INFO_NULL, &request);
  FAILS(MPI_ERR_INFO_VALUE, code, "the exchange is 'in partitions' on rank 0, but 'as a whole' on");
}

namespace {

/// Events that have all happened from the start. Preparation of event `broken` fails.
class Happened final : public Events {
 public:
  Happened(int triggers, int broken) : triggers_(triggers), broken_(broken) {}
  void reset() { next_ = 0; }
  int next() noexcept override { return next_ < triggers_ ? next_++ : -1; }
  void prepare(int event) override {
    require(event != broken_, Fault::type, "it cannot be packed");
  }
  void tell(int) override { ++told; }
  void describe_missing(std::ostream&) const override {}
  int told = 0;

 private:
  int triggers_, broken_, next_ = 0;
};

}  // namespace

TEST(a_failed_rank_marks_nothing_and_hangs_nobody) {
  const int size = world_size(), rank = world_rank();
  if (size < 2) skip("needs 2 ranks");
  const Duplicate comm;
  Pattern pattern;
  pattern.out = {{around(rank + 1, size), {{0, 0, 4}}, 2}};
  pattern.in = {{around(rank - 1, size), 4, {{0, 0, 4}}, 4}};
  Settings settings;
  settings.regions = few_regions(size);
  const auto graph = std::make_shared<Graph>(comm, std::vector{around(rank - 1, size)},
                                             std::vector{around(rank + 1, size)}, settings);
  for (const char* strategy : {"direct", "aggregate"}) {
    PlanOptions options;
    options.partitioned = true;
    const auto plan = graph->plan(pattern, find_planner(strategy), options, std::nullopt);
    Execution execution(plan, false, 0);
    for (int round = 0; round < 9; ++round) {
      // Rounds alternate: no fault; rank 1 does not start; rank 1 cannot prepare its second
      // partition.
      const bool culprit = rank == 1 && round % 3 > 0;
      const std::vector<std::int64_t> source{rank, rank, rank, rank + round};
      std::vector<std::int64_t> target(4, -1);
      const auto events = std::make_shared<Happened>(2, culprit ? 1 : -1);
      if (culprit && round % 3 == 1) {
        execution->start_after_failure();
        execution->wait_idle();
        continue;
      }
      Binding binding;
      binding.source = reinterpret_cast<const std::byte*>(source.data());
      binding.target = reinterpret_cast<std::byte*>(target.data());
      binding.element_bytes = 8;
      binding.events = events;
      execution->start(binding);
      const bool misses = round % 3 > 0 && around(rank - 1, size) == 1;
      // A rank that checks for single partitions learns of the fault before it waits.
      for (bool told = !misses; !told; progress()) {
        try {
          execution->check();
        } catch (const Error&) {
          told = true;
        }
      }
      try {
        execution->wait();
        CHECK(!misses && !culprit);
      } catch (const Error& error) {
        CHECK(misses || culprit);
        CHECK_EQUAL(static_cast<int>(error.fault()),
                    static_cast<int>(culprit ? Fault::type : Fault::elsewhere));
      }
      if (!misses) {
        CHECK_EQUAL(events->told, 4);
        CHECK_EQUAL(target.back(), around(rank - 1, size) + round);
      } else {
        CHECK(events->told < 4);
      }
    }
  }
}

}  // namespace vicinal::partition_faults_tests
