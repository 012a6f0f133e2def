// Tests timelines that can be computed by hand, in whole seconds.
#include "cost/timeline.hpp"

#include <numeric>

#include "../check.hpp"
#include "../relay_plans.hpp"
#include "../slow_machine.hpp"
#include "cost/price.hpp"

namespace vicinal::timeline_tests {

namespace {

using testing::add;
using testing::copy;
using testing::handing_over;
using testing::message;
using testing::on_hosts;
using testing::plans_of;
using testing::slow;
using testing::transfer;
using testing::with_rendezvous;
using Kind = OperationKind;
using Times = std::vector<double>;
using Numbers = std::vector<int>;

/// Simulates, and checks invariants of every timeline.
Simulation simulated(const std::vector<Plan>& plans, const std::vector<int>& hosts,
                     const Profile& profile) {
  const Machine machine = on_hosts(hosts);
  Simulation found = simulate(plans, machine, profile, 8);
  const Price alone = price(plans, machine, profile, 8);
  CHECK_EQUAL(found.price.seconds, alone.seconds);
  CHECK(found.price.phases == alone.phases);
  CHECK(found.price.busy == alone.busy);
  CHECK(found.price.finished == alone.finished);
  const Timeline& it = found.timeline;
  for (std::size_t rank = 0; rank < plans.size(); ++rank) {
    const double busy = std::accumulate(it.busy[rank].begin(), it.busy[rank].end(), 0.0);
    const double waiting = std::accumulate(it.waiting[rank].begin(), it.waiting[rank].end(), 0.0);
    CHECK_EQUAL(busy, alone.busy[rank]);
    CHECK_EQUAL(busy + waiting, alone.finished[rank]);
  }
  double at = 0;
  for (const Timeline::Link& link : it.chain) {
    CHECK_EQUAL(link.since, at);
    at = link.until;
  }
  CHECK_EQUAL(at, alone.seconds);
  return found;
}

double busy(const Simulation& it, int rank, Phase phase) {
  return it.timeline.busy[static_cast<std::size_t>(rank)][static_cast<std::size_t>(phase)];
}

double waiting(const Simulation& it, int rank, Phase phase) {
  return it.timeline.waiting[static_cast<std::size_t>(rank)][static_cast<std::size_t>(phase)];
}

Numbers chain(const Simulation& it) {
  Numbers result;
  for (const Timeline::Link& link : it.timeline.chain) result.push_back(link.operation);
  return result;
}

}  // namespace

TEST(spans_have_no_gaps) {
  // Operation 1 is first. Operation 0 is a send whose bytes leave long after. Operation 2 takes no
  // time; its wait ends at 9.
  const Times begun{2, 0, 9}, done{3, 1, 9}, complete{7, 1, 9};
  struct Expected {
    double since, until;
    int operation;
    bool busy;
  };
  const std::vector<Expected> expected{
      {0, 1, 1, true}, {1, 2, 0, false}, {2, 3, 0, true}, {3, 7, 0, false}, {7, 9, 2, false}};
  const std::vector<Span> found = spans(begun, done, complete);
  CHECK_EQUAL(found.size(), expected.size());
  for (std::size_t i = 0; i < found.size(); ++i) {
    CHECK_EQUAL(found[i].since, expected[i].since);
    CHECK_EQUAL(found[i].until, expected[i].until);
    CHECK_EQUAL(found[i].operation, expected[i].operation);
    CHECK_EQUAL(found[i].busy, expected[i].busy);
  }
  CHECK(spans({}, {}, {}).empty());
}

TEST(timeline_of_nothing) {
  const Simulation nothing = simulated(plans_of(2), {0, 1}, slow());
  CHECK(nothing.timeline.chain.empty() && nothing.timeline.cause.empty());
}

TEST(timeline_of_one_eager_message) {
  auto plans = plans_of(2);
  transfer(plans, 0, 1, 3);
  // Sent until 2; three elements leave until 8, arrive at 108, and are received until 111.
  const Simulation one = simulated(plans, {0, 1}, slow());
  CHECK(one.timeline.ready == (Times{0, 0}));
  CHECK(one.timeline.begun == (Times{0, 108}));
  CHECK(one.timeline.done == (Times{2, 111}));
  CHECK(one.timeline.complete == (Times{8, 111}));
  CHECK(one.timeline.cause == (Numbers{-1, 0}));
  // The send, its bytes, the receive.
  CHECK(chain(one) == (Numbers{0, 0, 1}));
  CHECK_EQUAL(waiting(one, 0, Phase::non_local), 6);
  CHECK_EQUAL(waiting(one, 1, Phase::non_local), 108);
  CHECK_EQUAL(busy(one, 1, Phase::non_local), 3);
}

TEST(timeline_of_a_message_that_waits_for_a_processor) {
  auto plans = plans_of(2);
  const int copied = copy(plans[1], 400);
  transfer(plans, 0, 1, 3);
  // The message arrives at 108, but the processor copies until 200.
  const Simulation late = simulated(plans, {0, 1}, slow());
  CHECK_EQUAL(late.timeline.begun[2], 200);
  CHECK(late.timeline.cause == (Numbers{-1, -1, 1 + copied}));
  CHECK(chain(late) == (Numbers{1, 2}));
  CHECK_EQUAL(waiting(late, 1, Phase::non_local), 0);
  CHECK_EQUAL(busy(late, 1, Phase::local), 200);
}

TEST(timeline_of_rendezvous_with_a_late_receive) {
  auto plans = plans_of(2);
  const int copied = copy(plans[1], 400);
  transfer(plans, 0, 1, 3, 0, {}, {copied});
  // Posted at 200; the sender knows at 300; three elements leave until 306 and are received until
  // 309.
  const Simulation late = simulated(plans, {0, 1}, with_rendezvous());
  CHECK(late.timeline.ready == (Times{0, 0, 200}));
  CHECK(late.timeline.begun == (Times{0, 0, 306}));
  CHECK(late.timeline.complete == (Times{306, 200, 309}));
  CHECK(late.timeline.cause == (Numbers{1, -1, 0}));
  CHECK(chain(late) == (Numbers{1, 0, 2}));
  CHECK_EQUAL(waiting(late, 0, Phase::non_local), 304);
  CHECK_EQUAL(waiting(late, 1, Phase::non_local), 106);
}

TEST(timeline_of_two_messages_on_one_link) {
  auto plans = plans_of(3);
  transfer(plans, 0, 1, 10);
  transfer(plans, 0, 2, 10);
  // Sent until 2 and 4. Each message needs the link for 20. The first has it alone until 4; both
  // share it until 40. Then the first has left, and the second leaves until 42.
  const Simulation two = simulated(plans, {0, 1, 2}, slow());
  CHECK(two.timeline.begun == (Times{0, 2, 140, 142}));
  CHECK(two.timeline.complete == (Times{40, 42, 143, 145}));
  CHECK(two.timeline.cause == (Numbers{-1, 0, 0, 1}));
}

TEST(timeline_of_a_handover) {
  const auto plans = handing_over();
  // Rank 0 awaits, copies until 2 and signals. Rank 1 sees the signal at 7, copies until 9 and
  // signals.
  const Simulation early = simulated(plans, {0, 0}, slow());
  CHECK(early.timeline.begun == (Times{0, 0, 2, 7, 7, 9}));
  CHECK(early.timeline.complete == (Times{0, 2, 2, 7, 9, 9}));
  CHECK(early.timeline.cause == (Numbers{-1, 0, 1, 2, 3, 4}));
  CHECK(chain(early) == (Numbers{0, 1, 2, 3, 4, 5}));
  CHECK_EQUAL(waiting(early, 1, Phase::scatter), 7);
  CHECK_EQUAL(busy(early, 1, Phase::local), 2);
  // On one shared core, rank 1 needs from 2 to 7 to see the signal.
  Profile shared = slow();
  shared.cores = 1;
  const Simulation scarce = simulated(plans, {0, 0}, shared);
  CHECK_EQUAL(scarce.timeline.begun[3], 2);
  CHECK_EQUAL(waiting(scarce, 1, Phase::scatter), 2);
  CHECK_EQUAL(busy(scarce, 1, Phase::scatter), 5);
}

TEST(timeline_of_ranks_that_share_a_core) {
  auto plans = plans_of(2);
  for (Plan& plan : plans) copy(plan, 4);
  Profile profile = slow();
  profile.cores = 1;
  const Simulation both = simulated(plans, {0, 0}, profile);
  CHECK(both.timeline.ready == (Times{0, 0}));
  CHECK(both.timeline.begun == (Times{0, 2}));
  CHECK(both.timeline.cause == (Numbers{-1, 0}));
  CHECK_EQUAL(waiting(both, 1, Phase::local), 2);
}

TEST(timeline_of_messages_that_come_at_once_in_any_order) {
  // All messages arrive at once, the last rank's sent first. They are received in the order of the
  // plan.
  constexpr int senders = 5;
  auto plans = plans_of(senders + 1);
  Numbers hosts{0};
  for (int rank = senders; rank > 0; --rank) {
    transfer(plans, rank, 0, 1);
    hosts.push_back(rank);
  }
  const Simulation all = simulated(plans, hosts, slow());
  Times expected;
  for (int i = 0; i < senders; ++i) expected.push_back(104 + 3 * i);
  CHECK(Times(all.timeline.begun.begin(), all.timeline.begun.begin() + senders) == expected);
}

}  // namespace vicinal::timeline_tests
