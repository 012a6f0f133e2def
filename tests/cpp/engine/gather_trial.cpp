// Which way blocking allgathers go once both have been timed: the same on all ranks, by the slowest of them.
#include "collectives/gather_trial.hpp"

#include <mpi.h>

#include <chrono>
#include <functional>
#include <string>

#include "check.hpp"
#include "mpi/communicator.hpp"
#include "world.hpp"

namespace vicinal::gather_trial_tests {
namespace {

using namespace testing;
using Way = GatherTrial::Way;

/// What a call takes this rank, in nanoseconds; 0 where it fails.
using Times = std::function<int(Way way, std::size_t number)>;

GatherTrial tried(const Times& times) {
  mpi::Communicator& world = *mpi::Communicator::of(MPI_COMM_WORLD);
  GatherTrial trial;
  std::size_t by_plan = 0;
  for (std::size_t number = 0; number < GatherTrial::timed_calls; ++number) {
    const GatherTrial::Call call = trial.next(world);
    CHECK(call.number == number);
    by_plan += call.way == Way::plan ? 1 : 0;
    const int time = times(call.way, number);
    if (time > 0) trial.note(number, std::chrono::nanoseconds(time));
  }
  CHECK_EQUAL(by_plan, GatherTrial::timed_calls / 2);
  CHECK(trial.outcome().empty());
  return trial;
}

Way verdict_of(GatherTrial& trial) {
  mpi::Communicator& world = *mpi::Communicator::of(MPI_COMM_WORLD);
  const GatherTrial::Call call = trial.next(world);
  CHECK(!call.number);
  CHECK(trial.next(world).way == call.way);
  return call.way;
}

TEST(blocking_allgathers_go_the_way_that_was_faster) {
  for (const Way faster : {Way::plan, Way::mpi}) {
    GatherTrial trial = tried([&](Way way, std::size_t) { return way == faster ? 1500 : 2500; });
    CHECK(verdict_of(trial) == faster);
    const char* const outcome =
        faster == Way::plan
            ? "measured in blocking calls: by the plan 1.5 us, by MPI 2.5 us; these go by the plan"
            : "measured in blocking calls: by the plan 2.5 us, by MPI 1.5 us; these go by MPI";
    CHECK_EQUAL(trial.outcome(), std::string(outcome));
  }
}

TEST(of_a_blocking_allgather_the_slowest_rank_counts) {
  const bool last = world_rank() == world_size() - 1;
  GatherTrial trial = tried([&](Way way, std::size_t) {
    return way == Way::mpi ? 2000 : last ? 3000 : 1000;
  });
  CHECK(verdict_of(trial) == Way::mpi);
}

TEST(of_blocking_allgathers_neither_the_ends_of_turns_nor_outliers_count) {
  GatherTrial trial = tried([&](Way way, std::size_t number) {
    const std::size_t place = number % GatherTrial::turn;
    const bool left_out =
        place == 0 || place == GatherTrial::turn - 1 || number < 2 * GatherTrial::turn;
    return way == Way::mpi ? 2000 : left_out ? 1000000 : 1000;
  });
  CHECK(verdict_of(trial) == Way::plan);
}

TEST(blocking_allgathers_without_times_of_all_ranks_keep_the_plan) {
  const bool fails = world_rank() == 0;
  GatherTrial trial = tried([&](Way way, std::size_t) {
    return fails && way == Way::mpi ? 0 : way == Way::mpi ? 1000 : 2000;
  });
  CHECK(verdict_of(trial) == Way::plan);
  CHECK(trial.outcome().find("by MPI not timed") != std::string::npos);
}

}  // namespace
}  // namespace vicinal::gather_trial_tests
