// Plans whose operations on user memory are unfinished when something else happens. Other
// executions run, a fault arrives, the plan is abandoned, or its owner releases it.
#include <mpi.h>

#include <memory>
#include <optional>
#include <vector>

#include "arrays.hpp"
#include "check.hpp"
#include "collectives/graph.hpp"
#include "execute/agreed_plan.hpp"
#include "memory/delayed_memory.hpp"
#include "mpi/drive.hpp"
#include "world.hpp"

namespace vicinal::jobs_in_progress_tests {
namespace {

using namespace testing;

constexpr std::int64_t untouched = -77;

/// No job finishes while it exists.
class Hold {
 public:
  Hold() { delayed_memory().hold(); }
  Hold(const Hold&) = delete;
  Hold& operator=(const Hold&) = delete;
  ~Hold() { let_go(); }
  static void let_go() { delayed_memory().let_go(); }
};

std::vector<std::int64_t> repeated(int count, std::int64_t value) {
  return std::vector<std::int64_t>(static_cast<std::size_t>(count), value);
}

/// Edges from rank 0 to rank 1 and, with two senders, from rank 2 to rank 1; each carries one
/// number.
struct OneWay {
  int rank = world_rank();
  Pattern pattern;
  std::shared_ptr<AgreedPlan> plan;

  explicit OneWay(const char* planner, int senders = 1) {
    std::vector<int> from{0};
    if (senders > 1) from.push_back(2);
    std::vector<int> sources, destinations;
    for (const int sender : from) {
      if (rank == sender) {
        pattern.out.push_back({1, {{0, 0, 1}}});
        destinations.push_back(1);
      }
      if (rank == 1) {
        pattern.in.push_back({sender, 1, {{0, static_cast<Index>(sources.size()), 1}}});
        sources.push_back(sender);
      }
    }
    Settings settings;
    settings.regions = "blocks:1";
    graph_ = std::make_shared<Graph>(MPI_COMM_WORLD, sources, destinations, settings);
    plan = graph_->plan(pattern, find_planner(planner), {}, std::nullopt, 2);
  }

 private:
  std::shared_ptr<Graph> graph_;
};

template <class Source, class Target>
Binding binding_of(const Source& source, Target& target) {
  Binding binding;
  binding.source = reinterpret_cast<const std::byte*>(source.data());
  binding.target = reinterpret_cast<std::byte*>(target.data());
  binding.element_bytes = 8;
  return binding;
}

/// Returns the fault with which an execution ends, if any.
std::optional<Fault> fault_of(const Execution& execution) {
  try {
    execution->wait();
  } catch (const Error& error) {
    return error.fault();
  }
  return std::nullopt;
}

}  // namespace

TEST(one_plan_serves_buffers_of_several_kinds) {
  if (world_size() < 2) skip("needs 2 ranks");
  if (!delayed_goes_with_host()) skip("needs the host's memory");
  const OneWay test("direct");
  Execution execution(test.plan, false, 0);
  const HostArray near_source(repeated(1, 5));
  const DelayedArray far_source(repeated(1, 6));
  const auto exchange = [&](const auto& source, auto target, std::int64_t sent) {
    execution->start(binding_of(source, target));
    execution->wait();
    if (test.rank == 1) CHECK(target.values() == repeated(1, sent));
  };
  const auto near_target = [] { return HostArray(repeated(1, untouched)); };
  const auto far_target = [] { return DelayedArray(repeated(1, untouched)); };
  for (int round = 0; round < 2; ++round) {
    exchange(far_source, far_target(), 6);
    exchange(near_source, far_target(), 5);
    exchange(far_source, near_target(), 6);
    exchange(near_source, near_target(), 5);
    exchange(near_source, far_target(), 5);
  }
}

TEST(what_never_finishes_holds_up_nobody_else) {
  if (world_size() < 2) skip("needs 2 ranks");
  HostArray from(repeated(1, 6)), to(repeated(1, untouched));
  if (!kind_of(from.data()).is_reachable()) skip("needs memory without jobs as well");
  const OneWay slow("direct"), quick("direct");
  Execution held(slow.plan, false, 0), other(quick.plan, false, 0);
  const DelayedArray source(repeated(1, 5));
  DelayedArray target(repeated(1, untouched));
  {
    const Hold hold;
    held->start(binding_of(source, target));
    for (int round = 0; round < 3; ++round) {
      other->start(binding_of(from, to));
      other->wait();
      if (slow.rank == 1) CHECK(to.values() == repeated(1, 6));
      // The execution must not complete while the jobs are held.
      if (slow.rank < 2) CHECK(!held->test());
      MPI_Barrier(MPI_COMM_WORLD);
    }
    CHECK(target.values() == repeated(1, untouched));
    if (slow.rank == 0) CHECK(delayed_memory().in_progress() > 0);
  }
  MPI_Barrier(MPI_COMM_WORLD);
  held->wait();
  if (slow.rank == 1) CHECK(target.values() == repeated(1, 5));
  CHECK_EQUAL(delayed_memory().in_progress(), 0);
}

TEST(a_failing_job_is_a_fault_of_what_depends_on_it) {
  if (world_size() < 2) skip("needs 2 ranks");
  for (const char* planner : {"direct", "aggregate"}) {
    const OneWay test(planner);
    Execution execution(test.plan, false, 0);
    const DelayedArray source(repeated(1, 5));
    DelayedArray target(repeated(1, untouched));
    for (int round = 0; round < 4; ++round) {
      const bool fails = round % 2 == 0;
      if (fails && test.rank == 0) delayed_memory().fail_next();
      std::optional<Fault> fault;
      execution->start(binding_of(source, target));
      fault = fault_of(execution);
      if (fails && test.rank == 0) CHECK(fault == Fault::memory);
      if (fails && test.rank == 1) CHECK(fault == Fault::elsewhere);
      if (!fails) CHECK(!fault);
      if (test.rank == 1) CHECK(target.values() == repeated(1, fails ? untouched : 5));
      target.fill(repeated(1, untouched));
      MPI_Barrier(MPI_COMM_WORLD);
    }
  }
}

TEST(a_fault_elsewhere_leaves_a_job_in_progress_alone) {
  if (world_size() < 3) skip("needs 3 ranks");
  const OneWay test("direct", 2);
  Execution execution(test.plan, false, 0);
  const DelayedArray source(repeated(1, 5 + test.rank));
  DelayedArray target(repeated(2, untouched));
  for (int round = 0; round < 3; ++round) {
    target.fill(repeated(2, untouched));
    std::optional<Hold> hold;
    if (test.rank == 0) hold.emplace();
    if (test.rank == 2) {
      execution->start_after_failure();
    } else {
      execution->start(binding_of(source, target));
    }
    // Rank 1 learns of the fault before rank 0 has packed what it sends.
    for (int poll = 0; poll < 100 && test.rank < 2; ++poll) CHECK(!execution->test());
    MPI_Barrier(MPI_COMM_WORLD);
    hold.reset();
    const std::optional<Fault> fault = fault_of(execution);
    if (test.rank == 1) {
      CHECK(fault == Fault::elsewhere);
      CHECK(target.values() == (std::vector<std::int64_t>{5, untouched}));
    } else {
      CHECK(!fault);
    }
    MPI_Barrier(MPI_COMM_WORLD);
  }
}

TEST(an_abandoned_plan_drops_its_jobs) {
  if (world_size() < 2) skip("needs 2 ranks");
  const OneWay test("direct");
  Execution execution(test.plan, false, 0);
  const DelayedArray source(repeated(1, 5));
  DelayedArray target(repeated(1, untouched));
  execution->start(binding_of(source, target));
  execution->wait();
  target.fill(repeated(1, untouched));
  MPI_Barrier(MPI_COMM_WORLD);
  const int before = delayed_memory().in_progress();
  const Hold hold;
  // Rank 0's data are sent, but rank 1 cannot copy them into its target.
  if (test.rank == 0) Hold::let_go();
  execution->start(binding_of(source, target));
  if (test.rank == 0) execution->wait();
  while (test.rank == 1 && delayed_memory().in_progress() == before) {
    CHECK(!execution->test());
  }
  if (test.rank == 0) {
    MPI_Recv(nullptr, 0, MPI_BYTE, 1, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    abandon_plan(test.plan, 0);
  }
  if (test.rank == 1) {
    MPI_Send(nullptr, 0, MPI_BYTE, 0, 0, MPI_COMM_WORLD);
    CHECK(fault_of(execution) == Fault::elsewhere);
    CHECK_EQUAL(delayed_memory().in_progress(), before);
  }
  Hold::let_go();
  MPI_Barrier(MPI_COMM_WORLD);
  CHECK(target.values() == repeated(1, untouched));
}

TEST(an_execution_let_go_of_ends_before_its_memory_does) {
  if (world_size() < 2) skip("needs 2 ranks");
  for (int round = 0; round < 10; ++round) {
    const OneWay test("direct");
    DelayedArray target(repeated(1, untouched));
    {
      const DelayedArray source(repeated(1, round));
      Execution execution(test.plan, false, 0);
      execution->start(binding_of(source, target));
    }
    CHECK_EQUAL(delayed_memory().in_progress(), 0);
    if (test.rank == 1) CHECK(target.values() == repeated(1, round));
  }
}

}  // namespace vicinal::jobs_in_progress_tests
