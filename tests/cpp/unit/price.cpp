// Tests the price of plans whose timelines can be computed by hand, in whole seconds.
#include "cost/price.hpp"

#include <algorithm>

#include "../check.hpp"
#include "../slow_machine.hpp"
#include "plan/verify.hpp"

namespace vicinal::price_tests {

namespace {

using testing::add;
using testing::copy;
using testing::handing_over;
using testing::message;
using testing::moving;
using testing::on_hosts;
using testing::plans_of;
using testing::slow;
using testing::transfer;
using testing::with_rendezvous;
using Kind = OperationKind;

constexpr Index element_bytes = 8;

Price priced(const std::vector<Plan>& plans, const Machine& machine, const Profile& profile) {
  return price(plans, machine, profile, element_bytes);
}

std::string fault_of(const std::vector<Plan>& plans, const Profile& profile) {
  try {
    priced(plans, on_hosts({0, 1}), profile);
  } catch (const Error& error) {
    return error.what();
  }
  return "none";
}

std::string fault_of_proof(const std::vector<Plan>& plans) {
  try {
    detail::run_to_the_end(Program(plans));
  } catch (const Error& error) {
    return error.what();
  }
  return "none";
}

}  // namespace

TEST(price_of_nothing) {
  const Price nothing = priced(plans_of(2), on_hosts({0, 1}), slow());
  CHECK_EQUAL(nothing.seconds, 0);
  CHECK_EQUAL(nothing.busiest, 0);
  CHECK(nothing.finished == std::vector<double>(2, 0.0));
  CHECK_THROWS(Fault::argument, priced(plans_of(2), on_hosts({0}), slow()),
               "there are 2 plans, but the machine has 1 ranks");
  CHECK_THROWS(Fault::argument, price(plans_of(1), on_hosts({0}), slow(), 0),
               "elements of 0 bytes were given");
}

TEST(price_of_one_eager_message) {
  auto plans = plans_of(2);
  transfer(plans, 0, 1, 3);
  // Sent until 2; three elements leave until 8, arrive at 108, and are received until 111.
  const Price one = priced(plans, on_hosts({0, 1}), slow());
  CHECK_EQUAL(one.seconds, 111);
  CHECK_EQUAL(one.seconds, slow().network().seconds(24));
  CHECK(one.finished == (std::vector<double>{8, 111}));
  CHECK(one.busy == (std::vector<double>{2, 3}));
  CHECK_EQUAL(one.busiest, 1);
  CHECK_EQUAL(one.of(Phase::non_local), 111);
}

TEST(price_of_bytes_that_processors_handle) {
  Profile profile = slow();
  profile.levels[2].protocols[0].processor_seconds_per_byte = 0.25;
  auto plans = plans_of(3);
  transfer(plans, 0, 1, 3);
  // Sent until 2 + 6; three elements leave until 14, arrive at 114, and are received until 114 + 3
  // + 6.
  const Price one = priced(plans, on_hosts({0, 1, 2}), profile);
  CHECK_EQUAL(one.seconds, 123);
  CHECK_EQUAL(one.seconds, profile.network().seconds(24));
  CHECK(one.busy == (std::vector<double>{8, 9, 0}));
  // Two messages to one rank: the second is handled after the first.
  transfer(plans, 2, 1, 3);
  CHECK(priced(plans, on_hosts({0, 1, 2}), profile).finished == (std::vector<double>{14, 132, 14}));
  // On one shared core, sends also share it: until 8 and 16. The second arrives at 122, while the
  // first is received.
  profile.cores = 1;
  CHECK_EQUAL(priced(plans, on_hosts({0, 1, 0}), profile).seconds, 132);
}

TEST(price_of_a_late_receive) {
  auto plans = plans_of(2);
  const int copied = copy(plans[1], 400);
  transfer(plans, 0, 1, 3, 0, {}, {copied});
  // The message arrives at 108, but is posted at 200, after the copy.
  const Price late = priced(plans, on_hosts({0, 1}), slow());
  CHECK_EQUAL(late.seconds, 203);
  CHECK_EQUAL(late.finished[0], 8);
  CHECK_EQUAL(late.of(Phase::local), 200);
  CHECK_EQUAL(late.of(Phase::non_local), 3);
  // The receive is posted in time, but the processor copies until 200.
  plans[1].operations[1].after.clear();
  const Price busy = priced(plans, on_hosts({0, 1}), slow());
  CHECK_EQUAL(busy.seconds, 203);
  CHECK_EQUAL(busy.of(Phase::local), 200);
}

TEST(price_of_rendezvous) {
  auto plans = plans_of(2);
  const int copied = copy(plans[1], 400);
  transfer(plans, 0, 1, 3, 0, {}, {copied});
  // Posted at 200; the sender knows at 300; three elements leave until 306 and are received until
  // 309.
  const Price late = priced(plans, on_hosts({0, 1}), with_rendezvous());
  CHECK_EQUAL(late.seconds, 309);
  CHECK(late.finished == (std::vector<double>{306, 309}));
  CHECK_EQUAL(late.of(Phase::local), 200);
  CHECK_EQUAL(late.of(Phase::non_local), 109);

  auto early = plans_of(2);
  transfer(early, 0, 1, 3);
  // Begins at 2, agreed at 102, leaves until 108.
  const Price in_time = priced(early, on_hosts({0, 1}), with_rendezvous());
  CHECK_EQUAL(in_time.seconds, 111);
  CHECK_EQUAL(in_time.finished[0], 108);
  // Two elements, 16 bytes, are still sent eagerly.
  auto small = plans_of(2);
  transfer(small, 0, 1, 2);
  CHECK_EQUAL(priced(small, on_hosts({0, 1}), with_rendezvous()).finished[0], 6);
}

TEST(price_of_two_messages_on_one_link) {
  auto plans = plans_of(3);
  transfer(plans, 0, 1, 10);
  transfer(plans, 0, 2, 10);
  plans[0].operations[0].phase = plans[1].operations[0].phase = Phase::gather;
  // Sent until 2 and 4. Each message needs the link for 20. The first has it alone until 4; both
  // share it until 40. Then the first has left, and the second leaves until 42.
  const Price two = priced(plans, on_hosts({0, 1, 2}), slow());
  CHECK(two.finished == (std::vector<double>{42, 143, 145}));
  CHECK_EQUAL(two.of(Phase::gather), 2);
  CHECK_EQUAL(two.of(Phase::non_local), 143);
  CHECK_EQUAL(two.busy[0], 4);
}

TEST(price_of_two_messages_to_one_rank) {
  auto plans = plans_of(2);
  transfer(plans, 0, 1, 10, 0);
  transfer(plans, 0, 1, 10, 1);
  // Sent until 2 and 4; the first leaves from 2 to 22, the second from 22 to 42.
  plans[0].operations[0].phase = Phase::gather;
  const Price two = priced(plans, on_hosts({0, 1}), slow());
  CHECK(two.finished == (std::vector<double>{42, 145}));
  CHECK_EQUAL(two.of(Phase::gather), 22);
  CHECK_EQUAL(two.of(Phase::non_local), 123);
}

TEST(price_of_two_messages_that_come_at_once) {
  auto plans = plans_of(3);
  transfer(plans, 1, 2, 1);
  transfer(plans, 0, 2, 1);
  plans[2].operations[0].phase = Phase::gather;
  // Both arrive at 104. The first operation receives rank 1's message until 107, the second rank
  // 0's until 110.
  const Price both = priced(plans, on_hosts({0, 1, 2}), slow());
  CHECK_EQUAL(both.seconds, 110);
  CHECK_EQUAL(both.of(Phase::gather), 103);
  CHECK_EQUAL(both.of(Phase::non_local), 7);
}

TEST(price_of_a_shared_port) {
  Profile profile = slow();
  const auto left_at = [&](const std::vector<Plan>& plans, const std::vector<int>& hosts) {
    const Price found = priced(plans, on_hosts(hosts), profile);
    return std::vector<double>{found.finished[0], found.finished[1]};
  };
  auto plans = plans_of(4);
  transfer(plans, 0, 2, 10);
  transfer(plans, 1, 3, 10);
  const std::vector<int> out = {0, 0, 1, 2};
  const std::vector<int> in = {0, 1, 2, 2};
  // Sent until 2. A message of 80 bytes takes 20 s on its link. On a port it takes 20 s alone, 40 s
  // beside another.
  profile.port_seconds_per_byte = 0.25;
  CHECK(left_at(plans, out) == (std::vector<double>{42, 42}));
  CHECK(left_at(plans, in) == (std::vector<double>{42, 42}));
  CHECK(left_at(plans, {0, 1, 2, 3}) == (std::vector<double>{22, 22}));
  // A port as fast as four links is no bottleneck.
  profile.port_seconds_per_byte = 0.0625;
  CHECK(left_at(plans, out) == (std::vector<double>{22, 22}));
  // Messages inside a host do not use the port: 10 s each.
  profile.port_seconds_per_byte = 0.25;
  CHECK(left_at(plans, {0, 0, 0, 0}) == (std::vector<double>{11, 11}));

  // Rank 1 copies until 10, so its message begins at 12. By then rank 0's has had 10 s of the port,
  // and it ends at 32. Rank 1's has had 10 s by 32, and then the port alone until 42.
  auto later = plans_of(4);
  transfer(later, 0, 2, 10);
  const int copied = copy(later[1], 20);
  transfer(later, 1, 3, 10, 0, {copied});
  CHECK(left_at(later, out) == (std::vector<double>{32, 42}));
  CHECK(left_at(later, in) == (std::vector<double>{32, 42}));
  // The shorter message ends first: both have had 10 s by 22; then rank 0's has the port alone.
  auto shorter = plans_of(4);
  transfer(shorter, 0, 2, 10);
  transfer(shorter, 1, 3, 5);
  CHECK(left_at(shorter, out) == (std::vector<double>{32, 22}));
}

TEST(price_of_a_port_that_a_third_joins) {
  Profile profile = slow();
  profile.port_seconds_per_byte = 0.25;
  auto plans = plans_of(6);
  for (int rank = 0; rank < 2; ++rank) transfer(plans, rank, 3 + rank, 10);
  transfer(plans, 2, 5, 10, 0, {copy(plans[2], 20)});
  // The first two begin at 2 and have had 5 of their 20 s by 12, when the third begins. By 57, all
  // three have had 15 s more. The first two end; the third has the port alone for its last 5 s.
  const Price three = priced(plans, on_hosts({0, 0, 0, 1, 2, 3}), profile);
  CHECK_EQUAL(three.finished[0], 57);
  CHECK_EQUAL(three.finished[1], 57);
  CHECK_EQUAL(three.finished[2], 62);
}

TEST(price_of_the_search_of_posted_receives) {
  Profile profile = slow();
  profile.search = 10;
  const auto seconds = [&](const std::vector<int>& tags) {
    auto plans = plans_of(2);
    for (const int tag : tags) add(plans[0], message(Kind::send, Plan::source, 0, 1, 1, tag));
    for (int tag = 0; tag < 3; ++tag) {
      add(plans[1], message(Kind::receive, Plan::target, tag, 1, 0, tag));
    }
    return priced(plans, on_hosts({0, 1}), profile).seconds;
  };
  // Arrivals at 104, 106 and 108, in the order of posting: 3 s each.
  CHECK_EQUAL(seconds({0, 1, 2}), 113);
  // The message sent first is posted last, behind two: 23 s, until 127. The second: 13 s, until
  // 140; the third: until 143.
  CHECK_EQUAL(seconds({2, 1, 0}), 143);
  // The first is behind one, until 117. The next is behind none, until 120, since one has been
  // taken; the last until 123.
  CHECK_EQUAL(seconds({1, 0, 2}), 123);
}

TEST(price_of_a_receive_that_stands_behind_nothing_posted_later) {
  Profile profile = slow();
  profile.search = 10;
  auto plans = plans_of(2);
  const int copied = copy(plans[1], 20);
  transfer(plans, 0, 1, 1, 0, {}, {copied});
  transfer(plans, 0, 1, 1, 1);
  // The receive of tag 1 is posted at 0, that of tag 0 at 10. Tag 0 arrives at 104: 13 s. Tag 1: 3
  // s.
  CHECK_EQUAL(priced(plans, on_hosts({0, 1}), profile).seconds, 120);
}

TEST(price_of_a_handover) {
  auto plans = handing_over();
  const Machine machine = on_hosts({0, 0});
  // Free since the previous execution; copied until 2, signaled, seen at 7, copied until 9.
  const Price early = priced(plans, machine, slow());
  CHECK(early.finished == (std::vector<double>{2, 9}));
  CHECK(early.busy == (std::vector<double>{2, 2}));
  CHECK_EQUAL(early.of(Phase::gather), 2);
  CHECK_EQUAL(early.of(Phase::scatter), 5);
  CHECK_EQUAL(early.of(Phase::local), 2);
  // An await that begins at 20 sees the signal at once.
  plans[1].operations[0].after = {
      add(plans[1], moving(Kind::copy, Phase::local, Plan::source, Plan::target, {{0, 10, 40}}))};
  std::rotate(plans[1].operations.begin(), plans[1].operations.end() - 1,
              plans[1].operations.end());
  plans[1].operations[1].after = {0};
  plans[1].operations[2].after = {1};
  plans[1].operations[3].after = {2};
  CHECK(priced(plans, machine, slow()).finished == (std::vector<double>{2, 22}));
}

TEST(price_of_ranks_that_share_cores) {
  Profile profile = slow();
  const auto finished = [&](double cores, const std::vector<int>& hosts) {
    auto plans = plans_of(static_cast<int>(hosts.size()));
    for (Plan& plan : plans) copy(plan, 4);
    profile.cores = cores;
    return priced(plans, on_hosts(hosts), profile).finished;
  };
  // Each rank has 2 s of work.
  CHECK(finished(0, {0, 0, 0}) == (std::vector<double>{2, 2, 2}));
  CHECK(finished(3, {0, 0, 0}) == (std::vector<double>{2, 2, 2}));
  CHECK(finished(1, {0, 0, 0}) == (std::vector<double>{2, 4, 6}));
  CHECK(finished(2, {0, 0, 0}) == (std::vector<double>{2, 2, 4}));
  // Rank 2 is the second rank of host 0.
  CHECK(finished(2, {0, 1, 0, 0}) == (std::vector<double>{2, 2, 2, 4}));
  // Half a core takes twice as long, even for a rank alone on it. Two ranks on 1.5 cores: 4/3 as
  // long.
  CHECK(finished(0.5, {0, 0, 1}) == (std::vector<double>{4, 8, 4}));
  CHECK(finished(1.5, {0, 0}) == (std::vector<double>{2 / 0.75, 2 / 0.75}));
}

TEST(price_of_a_handover_on_a_shared_core) {
  auto plans = handing_over();
  Profile profile = slow();
  profile.cores = 1;
  // Copied until 2; rank 1 needs the core until 7 to see the signal, and copies until 9.
  const Price alone = priced(plans, on_hosts({0, 0}), profile);
  CHECK(alone.finished == (std::vector<double>{2, 9}));
  CHECK(alone.busy == (std::vector<double>{2, 7}));
  // Rank 0 continues and signals. Rank 1 first copies from 2 to 22, and sees the flag at 27.
  add(plans[1], moving(Kind::copy, Phase::direct, Plan::source, Plan::target, {{0, 10, 40}}));
  const Price behind = priced(plans, on_hosts({0, 0}), profile);
  CHECK(behind.finished == (std::vector<double>{2, 29}));
  CHECK_EQUAL(behind.of(Phase::gather), 2);
  CHECK_EQUAL(behind.of(Phase::direct), 20);
  CHECK_EQUAL(behind.of(Phase::scatter), 5);
  CHECK_EQUAL(behind.of(Phase::local), 2);
}

TEST(price_of_turns_on_a_shared_core) {
  Profile profile = slow();
  profile.cores = 1;
  profile.turn = 3;
  profile.poll = 10;
  auto plans = plans_of(3);
  for (Plan& plan : plans) copy(plan, 4);
  const auto finished = [&](const std::vector<int>& hosts) {
    return priced(plans, on_hosts(hosts), profile).finished;
  };
  // 2 s each, and `turn` whenever the core switches to another rank.
  CHECK(finished({0, 0, 0}) == (std::vector<double>{2, 7, 12}));
  CHECK(finished({0, 1, 0}) == (std::vector<double>{2, 2, 7}));
  // The rank on the core continues: both of its copies precede the other rank's.
  copy(plans[0], 4);
  CHECK(finished({0, 1, 0}) == (std::vector<double>{4, 2, 9}));
  // Arrives at 104. A rank that has waited needs `turn`, `poll` and 3 s, whichever rank used the
  // core before.
  auto sent = plans_of(3);
  copy(sent[0], 4);
  transfer(sent, 1, 0, 1);
  CHECK_EQUAL(priced(sent, on_hosts({0, 1, 0}), profile).finished[0], 120);
  sent = plans_of(3);
  copy(sent[0], 4);
  transfer(sent, 1, 2, 1);
  CHECK_EQUAL(priced(sent, on_hosts({0, 1, 0}), profile).finished[2], 120);
}

TEST(price_goes_by_the_levels_of_the_machine) {
  // Ranks 0 to 2 share a host, ranks 0 and 1 a domain. Rank 3 is in their region, on another host.
  const Machine machine({0, 0, 0, 0, 1}, {0, 0, 0, 1, 2}, {0, 0, 1, 2, 0});
  const Profile profile = slow();
  const auto seconds = [&](int to, bool local) {
    auto plans = plans_of(5);
    transfer(plans, 0, to, 1);
    plans[0].operations[0].local = plans[to].operations[0].local = local;
    return priced(plans, machine, profile).seconds;
  };
  for (const bool local : {false, true}) {  // for statistics only
    CHECK_EQUAL(seconds(1, local), profile.at(Level::domain).seconds(8));
    CHECK_EQUAL(seconds(2, local), profile.at(Level::node).seconds(8));
    CHECK_EQUAL(seconds(3, local), profile.at(Level::node).seconds(8));
    CHECK_EQUAL(seconds(4, local), profile.at(Level::network).seconds(8));
  }
}

TEST(price_of_a_deadlock_is_the_fault_of_the_proof) {
  auto receives_first = plans_of(2);
  auto sends_first = plans_of(2);
  for (int rank = 0; rank < 2; ++rank) {
    const int other = 1 - rank;
    add(receives_first[rank], message(Kind::receive, Plan::target, 0, 3, other, 0));
    add(receives_first[rank], message(Kind::send, Plan::source, 0, 3, other, 0, {0}));
    add(sends_first[rank], message(Kind::send, Plan::source, 0, 3, other, 0));
    add(sends_first[rank], message(Kind::receive, Plan::target, 0, 3, other, 0, {0}));
  }
  const std::string expected = "deadlock in execution 1: rank 0, operation 0 (receive, non-local)";
  CHECK(fault_of(receives_first, slow()).starts_with(expected));
  CHECK_EQUAL(fault_of(receives_first, slow()), fault_of_proof(receives_first));
  // With eager sends this plan ends, though no program may rely on it.
  CHECK_EQUAL(fault_of(sends_first, slow()), "none");
  CHECK_EQUAL(fault_of(sends_first, with_rendezvous()), fault_of_proof(sends_first));

  auto awaiting = handing_over();
  awaiting[0].operations[0].lag = 0;
  CHECK_THROWS(Fault::internal, priced(awaiting, on_hosts({0, 0}), slow()),
               "deadlock in execution 1: rank 0, operation 0 (await, gather) waits for rank 1");
}

TEST(price_frees_what_events_bring_about) {
  auto plans = plans_of(1);
  const int marked = add(plans[0], testing::event(Kind::trigger, 0, 0));
  const int copied = copy(plans[0], 4, {marked});
  add(plans[0], testing::event(Kind::notify, 0, 0, {copied}));
  CHECK_EQUAL(priced(plans, on_hosts({0}), slow()).seconds, 2);
}

}  // namespace vicinal::price_tests
