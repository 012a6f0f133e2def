// The contenders of a contest, their order, and the winner. All ranks derive them from the same
// numbers.
#include "choose/contenders.hpp"

#include <algorithm>
#include <array>

#include "choose/contest.hpp"
#include "heats.hpp"
#include "world.hpp"

namespace vicinal::contenders_tests {
namespace {

using namespace testing;

using Numbers = std::vector<std::int64_t>;

}  // namespace

TEST(contenders_that_do_the_same_are_timed_once) {
  const Numbers all{8, 8, 7, 8, 8, 8};
  const Numbers sums{5, 6, 7, 5, 6, 9};
  CHECK(worth_timing(all, sums, 8) == std::vector<std::size_t>({0, 1, 5}));
  const Numbers different{1, 2, 3, 4, 5, 6};
  CHECK_EQUAL(worth_timing(Numbers(6, 8), different, 8).size(), most_timed);
  CHECK(worth_timing(Numbers(6, 7), different, 8).empty());
}

TEST(contenders_serve_what_they_are_looked_at_for) {
  for (const auto& [one_block, complete, partitioned] :
       std::vector<std::array<bool, 3>>{{false, false, false},
                                        {false, false, true},
                                        {false, true, false},
                                        {false, true, true},
                                        {true, false, false},
                                        {true, true, false}}) {
    PlanOptions options;
    options.one_block = one_block;
    options.complete = complete;
    options.partitioned = partitioned;
    const auto machine = mpi::Communicator::of(MPI_COMM_WORLD)->machine();
    for (const auto& names :
         {contenders(options),
          contenders_in_use(options, *machine, {.by_plan = 1, .by_message = 1})}) {
      CHECK_EQUAL(names.front(), std::string_view("automatic"));
      for (const std::string_view name : names) {
        CHECK_EQUAL(shortcoming(find_planner(name), options), std::string());
      }
    }
  }
}

TEST(a_plan_that_is_expected_to_take_several_times_as_long_is_not_tried) {
  const auto machine = mpi::Communicator::of(MPI_COMM_WORLD)->machine();
  const auto tries_direct = [&](const Forecast& forecast, const char* bias = "") {
    PlanOptions options;
    options.bias = *Bias::read(bias);
    const auto names = contenders_in_use(options, *machine, forecast);
    CHECK_EQUAL(names.front(), std::string_view("automatic"));
    return std::ranges::find(names, "direct") != names.end();
  };
  CHECK(tries_direct({0, 0}));
  CHECK(tries_direct({0, 50}));
  CHECK(tries_direct({10, 40}));
  CHECK(!tries_direct({10, 41}));
  CHECK(tries_direct({10, 41}, "direct:0.5"));
  CHECK(!tries_direct({10, 30}, "direct:2"));
}

TEST(winners_are_the_quickest_that_could_be_executed) {
  const std::vector<std::string_view> names{"automatic", "direct", "aggregate"};
  CHECK_EQUAL(winner(names, Numbers{30, 20, 25}, {}), std::size_t{1});
  CHECK_EQUAL(winner(names, Numbers{30, untimed, 25}, {}), std::size_t{2});
  CHECK_EQUAL(winner(names, Numbers{20, 20, 20}, {}), std::size_t{0});
  CHECK_EQUAL(winner(names, Numbers{untimed, untimed, untimed}, {}), std::size_t{0});
  CHECK_EQUAL(winner(names, Numbers{30, 20, 25}, *Bias::read("direct:2")), std::size_t{2});
  CHECK_EQUAL(winner(names, Numbers{30, 20, 25}, *Bias::read("automatic:0.5")), std::size_t{0});
  CHECK_EQUAL(median_of({9, 1, 5, untimed}), std::int64_t{5});
  CHECK_EQUAL(median_of({untimed}), untimed);
}

TEST(the_decision_holds_in_time) { CHECK(latest_decision({}, most_timed) < 210); }

TEST(heats_give_each_plan_its_slices_and_end) {
  for (const int in_flight : {1, 2, 4, 8}) {
    for (std::size_t plans = 2; plans <= most_timed; ++plans) {
      std::vector<std::size_t> places(plans);
      for (std::size_t i = 0; i < plans; ++i) places[i] = plans - i;
      const Heat heat{places, 24, in_flight, rounds_of_middle_heat};
      std::vector<std::int64_t> counted(plans);
      for (std::int64_t n = heat.begin; n < heat.end(); ++n) {
        if (!heat.counts(n)) continue;
        ++counted[plans - heat.plan(n)];
        // Executions in flight together with a counted one use the same plan.
        CHECK_EQUAL(heat.plan(n - in_flight), heat.plan(n));
        CHECK_EQUAL(heat.plan(n + 1), heat.plan(n));
      }
      for (const std::int64_t executions : counted) CHECK_EQUAL(executions, counted.front());
      CHECK(counted.front() >= 6);
      // A rank waits for all measured executions before it starts the first that needs the
      // decision.
      CHECK(heat.decision() - heat.end() >= in_flight);
      for (std::int64_t n = heat.end(); n < heat.decision(); ++n) {
        CHECK_EQUAL(heat.plan(n), places.front());
      }
    }
  }
}

TEST(of_a_slice_the_mean_counts_without_its_ends) {
  for (const int in_flight : {1, 4}) {
    const Heat heat{{2, 0}, 24, in_flight, rounds_of_last_heat};
    Numbers times(static_cast<std::size_t>(heat.end() - heat.begin), 1000000);
    for (std::int64_t n = heat.begin; n < heat.end(); ++n) {
      if (!heat.counts(n)) continue;
      // The first counted execution takes all the time of its slice; in the last two slices it is
      // untimed.
      const std::int64_t place = (n - heat.begin) % heat.slice_length() - in_flight;
      const bool is_first = place == 0;
      times[static_cast<std::size_t>(n - heat.begin)] = is_first ? 10 * heat.counted() : 0;
      if (is_first && heat.slice_of(n) + 2 >= heat.slices())
        times[static_cast<std::size_t>(n - heat.begin)] = untimed;
    }
    const Numbers means = means_of_slices(heat, times);
    CHECK_EQUAL(means.size(), heat.slices());
    for (std::size_t slice = 0; slice < means.size(); ++slice) {
      CHECK_EQUAL(means[slice], slice + 2 >= means.size() ? untimed : std::int64_t{10});
      CHECK_EQUAL(heat.plan_of_slice(slice), slice % 2 == 0 ? std::size_t{2} : std::size_t{0});
    }
  }
}

}  // namespace vicinal::contenders_tests
