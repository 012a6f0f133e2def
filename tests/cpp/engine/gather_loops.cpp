// Repeated allgathers over all ranks: by a plan or by MPI's own collective, as all ranks have
// measured.
#include "collectives/gather_loops.hpp"

#include <mpi.h>

#include <optional>
#include <string>
#include <vector>

#include "api/arguments.hpp"
#include "check.hpp"
#include "choose/decisions.hpp"
#include "collectives/call.hpp"
#include "world.hpp"

namespace vicinal::gather_loops_tests {
namespace {

using namespace testing;

const BlockSizes word{8};
/// More calls than a contest needs to decide.
constexpr int enough = 260;

/// Allgathers of a communicator with expensive messages inside its regions.
class Loops {
 public:
  explicit Loops(const char* bias) {
    Settings settings = read_settings(MPI_INFO_NULL, comm_);
    settings.regions = few_regions(world_size());
    settings.options.bias = *Bias::read(bias);
    for (const Level level : {Level::domain, Level::node}) {
      LevelCost& cost = settings.options.profile.levels[static_cast<std::size_t>(level)];
      cost.send_overhead *= 100;
      cost.receive_overhead *= 100;
    }
    loops_.emplace(
        Graph::complete(mpi::Communicator::of(comm_), std::move(settings), std::nullopt));
  }

  /// Runs a blocking call and checks its data. Returns whether it used a plan.
  bool call(int number) {
    std::int64_t mine = 1000 * number + world_rank();
    std::vector<std::int64_t> all(static_cast<std::size_t>(world_size()), -1);
    const GatherLoops::Path path = loops_->enter(word, vicinal::Form::blocking);
    if (path.queue != nullptr) {
      NeighborArguments arguments;
      c_api::allgather(c_api::Among::all_ranks, &mine, 1, MPI_INT64_T, all.data(), 1, MPI_INT64_T)(
          *loops_->graph(), arguments);
      path.queue
          ->enter(*loops_->graph(), std::move(arguments), std::nullopt, vicinal::Form::blocking)
          .finish();
    } else {
      MPI_Allgather(&mine, 1, MPI_INT64_T, all.data(), 1, MPI_INT64_T, comm_);
      if (path.contest != nullptr) {
        const ActivityLock lock(*path.contest);
        path.contest->note(path.number, 1000);
      }
    }
    for (int rank = 0; rank < world_size(); ++rank) {
      CHECK_EQUAL(all[static_cast<std::size_t>(rank)], 1000 * number + rank);
    }
    return path.queue != nullptr;
  }
  /// Returns how many of the calls used a plan.
  int calls(int first, int last) {
    int by_plan = 0;
    for (int number = first; number < last; ++number) by_plan += call(number) ? 1 : 0;
    return by_plan;
  }
  [[nodiscard]] bool nonblocking_goes_by_plan() {
    return loops_->enter(word, vicinal::Form::nonblocking).queue != nullptr;
  }
  [[nodiscard]] std::string measured() { return loops_->plans().front().measured; }

 private:
  Duplicate comm_;
  std::optional<GatherLoops> loops_;
};

constexpr const char* for_mpi = "automatic:1000000,hierarchical:1000000,locality-bruck:1000000";
constexpr const char* for_plans =
    "automatic:0.000001,hierarchical:0.000001,locality-bruck:0.000001";

bool has_regions() { return world_size() >= 4; }

TEST(blocking_allgathers_go_by_what_was_the_quickest) {
  if (!has_regions()) skip("needs several regions");
  for (const bool is_plans : {false, true}) {
    forget_decisions();
    Loops loops(is_plans ? for_plans : for_mpi);
    const int tried = loops.calls(0, enough);
    CHECK(tried > 0 && tried < enough);
    CHECK_EQUAL(loops.calls(enough, enough + 20), is_plans ? 20 : 0);
    const std::string taken = "MPI's own is taken";
    CHECK((loops.measured().find(taken) == std::string::npos) == is_plans);
    CHECK(loops.measured().find("MPI's own 1 us") != std::string::npos);
  }
}

TEST(a_later_loop_of_the_same_allgathers_knows_what_was_the_quickest) {
  if (!has_regions()) skip("needs several regions");
  forget_decisions();
  const auto by_plan = [] {
    Loops loops(for_mpi);
    return loops.calls(0, enough);
  };
  const int at_first = by_plan(), later = by_plan();
  CHECK(at_first > later && later > 0);
}

TEST(nonblocking_allgathers_are_left_to_mpi_where_that_competes_with_plans) {
  if (!has_regions()) skip("needs several regions");
  for (const bool came_before : {false, true}) {
    Loops loops(for_plans);
    if (came_before) CHECK(!loops.nonblocking_goes_by_plan());
    loops.calls(0, enough);
    CHECK_EQUAL(loops.nonblocking_goes_by_plan(), came_before);
  }
}

}  // namespace
}  // namespace vicinal::gather_loops_tests
