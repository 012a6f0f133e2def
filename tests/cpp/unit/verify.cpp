// Tests the verifier: correct plans pass, and each kind of error is found and named.
#include "plan/checks.hpp"

#include "../check.hpp"
#include "../relay_plans.hpp"

namespace vicinal::verify_tests {

namespace {

using testing::add;
using testing::flagging;
using testing::message;
using testing::moving;
using testing::Scenario;
using Kind = OperationKind;

/// Two ranks; each sends three of its four elements to the other, the middle one into two slots.
Scenario direct() {
  Scenario it;
  it.plans = testing::empty_plans(2, 4, 4);
  for (int rank = 0; rank < 2; ++rank) {
    const int other = 1 - rank;
    Pattern pattern;
    pattern.out = {{other, {{0, 1, 3}}}};
    pattern.in = {{other, 3, {{0, 0, 2}, {1, 2, 2}}}};
    it.patterns.push_back(pattern);
    Plan& plan = it.plans[rank];
    const int received = add(plan, Buffer{Space::staging, 3});
    const int receive = add(plan, message(Kind::receive, received, 0, 3, other, 7));
    add(plan, message(Kind::send, Plan::source, 1, 3, other, 7));
    add(plan, moving(Kind::copy, Phase::direct, received, Plan::target, {{0, 0, 2}, {1, 2, 2}},
                     {receive}));
  }
  return it;
}

/// Ranks 0 and 2 send through the leaders 1 and 3 to ranks 4 and 5, which share an item.
Scenario relay() {
  std::vector<Pattern> patterns(6);
  for (Pattern& pattern : patterns) pattern.identity = true;
  patterns[0].out = {{4, {{0, 0, 2}}}, {5, {{1, 1, 1}}}};
  patterns[2].out = {{4, {{3, 3, 1}}}, {5, {{0, 0, 1}, {2, 2, 2}}}};
  patterns[4].in = {{0, 2, {{0, 0, 2}}}, {2, 1, {{0, 2, 1}}}};
  patterns[5].in = {{0, 1, {{0, 3, 1}}}, {2, 3, {{0, 0, 3}}}};
  return testing::relay(patterns, 3, 4);
}

/// Rank 0 owns items that are ghosts of rank 1 (twice) and rank 2. Rank 2 sends its ghosts through
/// rank 1, which adds them to its own. Rank 3 sends its ghost directly.
Scenario reverse() {
  Scenario it;
  it.plans = testing::empty_plans(4, 3, 2);
  it.patterns.resize(4);
  for (Pattern& pattern : it.patterns) pattern.identity = true;
  it.patterns[0].out = {{1, {{0, 0, 2}}}, {2, {{0, 0, 2}}}, {3, {{1, 1, 1}}}};
  it.patterns[1].in = {{0, 2, {{0, 0, 2}, {1, 2, 1}}}};
  it.patterns[2].in = {{0, 2, {{1, 0, 1}, {0, 1, 1}}}};
  it.patterns[3].in = {{0, 1, {{0, 0, 1}}}};
  for (Plan& plan : it.plans) plan.reverse = true;

  Plan& leader = it.plans[1];
  const int slot = add(leader, Buffer{Space::shared, 2, 0, 1, -1, 1});
  const int sums = add(leader, Buffer{Space::staging, 2});
  const int own = add(leader, moving(Kind::copy, Phase::gather, Plan::source, sums, {{0, 0, 2}}));
  const int twice =
      add(leader, moving(Kind::reduce, Phase::gather, Plan::source, sums, {{2, 1, 1}}, {own}));
  const int ready = add(leader, flagging(Kind::await, Phase::gather, slot, 0));
  const int summed = add(leader, moving(Kind::reduce, Phase::gather, slot, sums,
                                        {{0, 1, 1}, {1, 0, 1}}, {ready, twice}));
  add(leader, flagging(Kind::signal, Phase::gather, slot, -1, 0, {summed}));
  add(leader, message(Kind::send, sums, 0, 2, 0, 1, {summed}));

  Plan& member = it.plans[2];
  const int view = add(member, Buffer{Space::shared, 2, 0, 1, 0});
  const int free = add(member, flagging(Kind::await, Phase::gather, view, -1, 1));
  const int copy =
      add(member, moving(Kind::copy, Phase::gather, Plan::source, view, {{0, 0, 2}}, {free}));
  add(member, flagging(Kind::signal, Phase::gather, view, 0, 0, {copy}));

  add(it.plans[3], message(Kind::send, Plan::source, 0, 1, 0, 2));

  Plan& owner = it.plans[0];
  const int sums_received = add(owner, Buffer{Space::staging, 2});
  const int ghost_received = add(owner, Buffer{Space::staging, 1});
  const int first = add(owner, message(Kind::receive, sums_received, 0, 2, 1, 1));
  const int second = add(owner, message(Kind::receive, ghost_received, 0, 1, 3, 2));
  const int added = add(owner, moving(Kind::reduce, Phase::non_local, sums_received, Plan::target,
                                      {{0, 0, 2}}, {first}));
  add(owner, moving(Kind::reduce, Phase::direct, ghost_received, Plan::target, {{0, 1, 1}},
                    {second, added}));
  return it;
}

/// Returns the rank's `nth` operation of that kind, counted from 0.
Operation& find(Scenario& it, int rank, Kind kind, int nth = 0) {
  for (Operation& operation : it.plans[rank].operations) {
    if (operation.kind == kind && nth-- == 0) return operation;
  }
  throw std::runtime_error("the test looks for an operation that its plan does not have");
}

/// Makes an operation do nothing, without renumbering the others.
void drop(Operation& operation) {
  operation.kind = Kind::copy;
  operation.from = Plan::source;
  operation.to = Plan::target;
  operation.runs.clear();
}

void check_finding(const Scenario& it, const char* part) {
  CHECK_THROWS(Fault::internal, verify(it.plans, it.patterns), part);
}

}  // namespace

TEST(verify_accepts_right_plans) {
  for (const Scenario& it : {direct(), relay(), reverse()}) verify(it.plans, it.patterns);
  verify({}, {});
}

TEST(verify_accepts_random_relays) {
  for (unsigned seed = 0; seed < 4; ++seed) {
    const Scenario it = testing::relay(testing::random_patterns(48, 6, 9, 5, 20, seed), 6, 20);
    verify(it.plans, it.patterns);
  }
}

TEST(verify_accepts_any_position_of_an_item) {
  Scenario it = direct();
  for (Pattern& pattern : it.patterns) {
    pattern.identity = true;
    pattern.out[0].items = {{5, 0, 1}, {6, 2, 2}};
    pattern.out.push_back({pattern.out[0].rank, {{5, 1, 1}}});
    pattern.in.push_back({pattern.in[0].rank, 1, {}});
  }
  verify(it.plans, it.patterns);
}

TEST(verify_finds_a_writer_that_laps_its_readers) {
  Scenario gather = relay();
  drop(find(gather, 0, Kind::await));
  check_finding(gather, "no acknowledgement orders them");
  Scenario scatter = relay();
  drop(find(scatter, 3, Kind::await));
  check_finding(scatter, "no acknowledgement orders them");
  Scenario early = relay();
  find(early, 4, Kind::signal).after.clear();
  check_finding(early, "rank 3, operation 2 (receive, non-local) may touch element");
  Scenario backwards = reverse();
  drop(find(backwards, 2, Kind::await));
  check_finding(backwards, "no acknowledgement orders them");
}

TEST(verify_finds_data_read_before_it_is_ready) {
  Scenario it = relay();
  find(it, 4, Kind::copy).after.clear();
  check_finding(it, "are unordered");
  Scenario lagging = relay();
  find(lagging, 4, Kind::await).lag = 1;
  check_finding(lagging, "are unordered");
  Scenario unsent = relay();
  find(unsent, 1, Kind::send).after.pop_back();
  check_finding(unsent, "are unordered");
}

TEST(verify_finds_deadlocks) {
  Scenario silent = relay();
  drop(find(silent, 0, Kind::signal));
  check_finding(silent,
                "deadlock: rank 1, operation 0 (await, gather) awaits flag 0 of slot 0 of "
                "rank 1, which no operation signals");
  Scenario first = direct();
  for (Plan& plan : first.plans) std::swap(plan.operations[0], plan.operations[1]);
  for (Plan& plan : first.plans) plan.operations[2].after = {1};
  verify(first.plans, first.patterns);
  for (Plan& plan : first.plans) plan.operations[1].after = {0};
  check_finding(first,
                "deadlock in execution 1: rank 0, operation 0 (send, non-local) waits for rank "
                "1, operation 1 (receive, non-local) waits for rank 1, operation 0");
  Scenario second = relay();
  find(second, 0, Kind::await).lag = 0;
  check_finding(second, "deadlock in execution 1");
}

TEST(verify_finds_wrong_values) {
  Scenario offset = direct();
  find(offset, 0, Kind::send).offset = 0;
  check_finding(offset,
                "fills slot 0 of rank 1 with owned element 0 of rank 0; the item that belongs "
                "there is owned element 1 of rank 0");
  Scenario swapped = relay();
  find(swapped, 5, Kind::copy).runs = {{0, 0, 4}};
  check_finding(swapped, "with owned element");
  Scenario unnamed = direct();
  for (Pattern& pattern : unnamed.patterns) pattern.in[0].slots.pop_back();
  check_finding(unnamed, "which no in-edge names");
  Scenario beyond = direct();
  beyond.patterns[1].in[0].slots.push_back({0, 4, 1});
  check_finding(beyond, "slot 4 of rank 1 is never written");
  Scenario missing = direct();
  find(missing, 1, Kind::copy).runs.pop_back();
  check_finding(missing, "slot 2 of rank 1 is never written");
  Scenario stale = direct();
  drop(find(stale, 1, Kind::receive));
  drop(find(stale, 0, Kind::send));
  check_finding(stale, "which nothing has written before");
}

TEST(verify_finds_slots_written_twice) {
  Scenario one = direct();
  find(one, 0, Kind::copy).runs.push_back({0, 0, 1});
  check_finding(one, "writes element 0 of buffer 1 (target) of rank 0 twice");
  Scenario two = direct();
  Operation again = find(two, 0, Kind::copy);
  again.after = {0, 2};
  add(two.plans[0], again);
  check_finding(two, "both write element 0 of buffer 1 (target) of rank 0: it is written twice");
}

TEST(verify_finds_messages_that_do_not_fit) {
  Scenario size = direct();
  find(size, 0, Kind::receive).count = 2;
  check_finding(size,
                "sends 3 elements with tag 7, but rank 0, operation 0 (receive, non-local) "
                "receives 2 elements");
  Scenario near = direct();
  find(near, 0, Kind::receive).local = true;
  check_finding(near, "but only one of the two is said to stay in its region");
  Scenario lost = direct();
  drop(find(lost, 1, Kind::receive));
  check_finding(lost, "no receive matches it");
  Scenario waiting = direct();
  find(waiting, 0, Kind::send).tag = 8;
  check_finding(waiting, "no send matches it");
  Scenario twice = direct();
  add(twice.plans[0], find(twice, 0, Kind::send));
  check_finding(twice, "uses tag 7 from rank 0 to rank 1 twice");
  Scenario own = direct();
  find(own, 0, Kind::send).peer = 0;
  check_finding(own, "to its own rank");
}

TEST(verify_finds_accesses_out_of_bounds) {
  Scenario send = direct();
  find(send, 0, Kind::send).offset = 2;
  check_finding(send, "out of bounds");
  Scenario copy = direct();
  find(copy, 1, Kind::copy).runs.back().target = 3;
  check_finding(copy, "writes elements 3 to 4 of buffer 1, out of bounds: its extent is 4");
  Scenario negative = direct();
  find(negative, 1, Kind::copy).runs.back().source = -1;
  check_finding(negative, "out of bounds");
  Scenario view = relay();
  view.plans[4].buffers[2].extent += 1;
  check_finding(view, "maps slot 1 of rank 3");
}

TEST(verify_finds_misused_buffers_and_flags) {
  Scenario source = direct();
  find(source, 0, Kind::copy).to = Plan::source;
  check_finding(source, "writes to the user's source buffer");
  Scenario flag = relay();
  find(flag, 0, Kind::signal).flag = 1;
  check_finding(flag, "sets flag 1, but this rank's flag of that slot is 0");
  Scenario twice = relay();
  add(twice.plans[0], find(twice, 0, Kind::signal));
  check_finding(twice, "sets the same flag");
  Scenario order = direct();
  find(order, 0, Kind::copy).after = {2};
  check_finding(order, "does not stand before it");
  Scenario reduce = direct();
  find(reduce, 0, Kind::copy).kind = Kind::reduce;
  check_finding(reduce, "a forward plan only moves items");
  Scenario mixed = reverse();
  mixed.plans[2].reverse = false;
  check_finding(mixed, "has a forward plan");
  Scenario place = direct();
  std::swap(place.plans[0], place.plans[1]);
  check_finding(place, "says that it is for rank 1 of 2");
}

TEST(verify_finds_patterns_that_disagree) {
  Scenario count = direct();
  count.patterns[0].in[0].count = 4;
  check_finding(count, "the patterns disagree: rank 1 sends 3 items to rank 0, which expects 4");
  Scenario less = direct();
  less.patterns[0].in[0] = {1, 2, {{0, 0, 2}}};
  check_finding(less, "the patterns disagree: rank 1 sends 3 items to rank 0, which expects 2");
  // A plan may be correct for a pattern whose last item is unused, while the counts of the two ends
  // differ.
  Scenario unused = direct();
  for (Pattern& pattern : unused.patterns) pattern.in[0].slots = {{0, 0, 2}, {1, 2, 1}};
  for (int rank = 0; rank < 2; ++rank) find(unused, rank, Kind::copy).runs = {{0, 0, 2}, {1, 2, 1}};
  verify(unused.plans, unused.patterns);
  unused.patterns[1].in[0].count = 2;
  check_finding(unused, "rank 0 sends 3 items to rank 1, which expects 2");
  Scenario edge = direct();
  edge.patterns[0].in.clear();
  check_finding(edge, "rank 1 has an edge to rank 0, which has no edge from it");
}

TEST(verify_finds_wrong_sums) {
  Scenario twice = reverse();
  find(twice, 1, Kind::reduce, 1).runs.push_back({1, 0, 1});
  check_finding(twice, "slot 1 of rank 2 is added twice to owned element 0 of rank 0");
  Scenario wrong = reverse();
  find(wrong, 0, Kind::reduce, 1).runs[0].target = 0;
  check_finding(wrong, "slot 0 of rank 3 is added to owned element 0 of rank 0, where it does not");
  Scenario missing = reverse();
  find(missing, 1, Kind::reduce, 0).runs.clear();
  check_finding(missing, "slot 2 of rank 1 is never added to owned element 1 of rank 0");
  Scenario lost = reverse();
  find(lost, 0, Kind::reduce, 0).kind = Kind::copy;
  check_finding(lost, "must be the first operand of its sum");
  Scenario empty = reverse();
  find(empty, 1, Kind::copy).runs[0].count = 1;
  check_finding(empty,
                "adds to element 1 of buffer 3 (staging) of rank 1, which nothing has written");
}

TEST(verify_finds_sums_whose_order_is_open) {
  Scenario it = reverse();
  find(it, 0, Kind::reduce, 1).after.pop_back();
  check_finding(it, "are unordered, but both touch element 1 of buffer 1 (target) of rank 0");
}

}  // namespace vicinal::verify_tests
