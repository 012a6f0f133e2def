// Tests statistics and the text, JSON and GOAL forms, on one small plan.
#include <limits>
#include <sstream>

#include "../check.hpp"
#include "../relay_plans.hpp"
#include "base/json.hpp"
#include "plan/checks.hpp"

namespace vicinal::plan_forms_tests {

namespace {

using testing::add;
using testing::flagging;
using testing::message;
using testing::moving;
using Kind = OperationKind;

/// Rank 0 packs into a slot of rank 1, which sends it to rank 2.
std::vector<Plan> chain() {
  auto plans = testing::empty_plans(3, 4, 4);
  const int view = add(plans[0], Buffer{Space::shared, 2, 5, 1, 0});
  const int free = add(plans[0], flagging(Kind::await, Phase::gather, view, -1, 1));
  const int copy = add(plans[0], moving(Kind::copy, Phase::gather, Plan::source, view,
                                        {{3, 0, 1}, {0, 1, 1}}, {free}));
  add(plans[0], flagging(Kind::signal, Phase::gather, view, 0, 0, {copy}));
  const int slot = add(plans[1], Buffer{Space::shared, 2, 5, 1, -1, 1});
  const int ready = add(plans[1], flagging(Kind::await, Phase::gather, slot, 0));
  const int sent = add(plans[1], message(Kind::send, slot, 0, 2, 2, 90, {ready}));
  add(plans[1], flagging(Kind::signal, Phase::gather, slot, -1, 0, {sent}));
  add(plans[2], message(Kind::receive, Plan::target, 2, 2, 1, 90));
  return plans;
}

template <class Write>
std::string written(Write write) {
  std::ostringstream out;
  write(out);
  return out.str();
}

}  // namespace

TEST(statistics_count_messages_and_elements) {
  auto plans = chain();
  CHECK_EQUAL(statistics(plans[0]).shared_elements, 2);
  CHECK_EQUAL(statistics(plans[0]).copied_elements, 0);
  const Statistics sender = statistics(plans[1]);
  CHECK_EQUAL(sender.non_local.messages, 1);
  CHECK_EQUAL(sender.non_local.elements, 2);
  CHECK_EQUAL(sender.local.messages, 0);
  CHECK_EQUAL(sender.sent_in_phase.at("non-local").elements, 2);
  CHECK_EQUAL(statistics(plans[2]).non_local.messages, 0);
  plans[1].operations[1].local = true;
  CHECK_EQUAL(statistics(plans[1]).local.elements, 2);
}

TEST(text_has_a_line_per_buffer_and_operation) {
  const auto plans = chain();
  CHECK_EQUAL(written([&](std::ostream& out) { write_text(out, plans[0]); }),
              "rank 0 of 3, by hand\n"
              "  buffer 0: source, 4 elements\n"
              "  buffer 1: target, 4 elements\n"
              "  buffer 2: shared, 2 elements, slot 5 of rank 1, as peer 0\n"
              "  0: await [gather] the owner's flag of buffer 2, 1 execution back\n"
              "  1: copy [gather] 2 elements from buffer 0 to buffer 2: 3->0 x1, 0->1 x1; after 0\n"
              "  2: signal [gather] the flag of peer 0 of buffer 2; after 1\n");
  CHECK_EQUAL(
      written([&](std::ostream& out) { write_text(out, plans[2]); }),
      "rank 2 of 3, by hand\n"
      "  buffer 0: source, 4 elements\n"
      "  buffer 1: target, 4 elements\n"
      "  0: receive [non-local] 2 elements at 2 of buffer 1 from non-local rank 1, tag 90\n");
}

TEST(json_has_all_fields) {
  auto plans = chain();
  plans[1].planner = "a \"quoted\"\\\n\x01 name";
  CHECK_EQUAL(
      written([&](std::ostream& out) { write_json(out, plans[1]); }),
      R"({"format": 1, "rank": 1, "size": 3, "planner": "a \"quoted\"\\\n\u0001 name", "reverse": false, )"
      R"("buffers": [{"space": "source", "extent": 4}, {"space": "target", "extent": 4}, )"
      R"({"space": "shared", "extent": 2, "slot": 5, "owner": 1, "peer_index": -1, "peers": 1}], )"
      R"("operations": [{"kind": "await", "phase": "gather", "from": 2, "flag": 0, "lag": 0, )"
      R"("after": []}, {"kind": "send", "phase": "non-local", "local": false, "from": 2, )"
      R"("offset": 0, "count": 2, "peer": 2, "tag": 90, "after": [0]}, {"kind": "signal", )"
      R"("phase": "gather", "from": 2, "flag": -1, "after": [1]}]})");
}

TEST(json_writes_every_kind_of_value) {
  CHECK_EQUAL(written([](std::ostream& out) {
                JsonWriter json(out);
                json.begin_array().value(0.1).value(1e300).value(true).value("x").value(-3);
                json.value(std::numeric_limits<double>::infinity());
                json.begin_object().key("empty").begin_array().end_array().end_object().end_array();
              }),
              R"([0.1, 1e+300, true, "x", -3, null, {"empty": []}])");
}

TEST(goal_turns_flags_into_messages) {
  const auto plans = chain();
  const auto program = [](const std::string& signal, const std::string& await) {
    return "num_ranks 3\n\n"
           "rank 0 {\n"
           "l1: calc 0\n"
           "l2: calc 32\n"
           "l2 requires l1\n"
           "l3: " +
           signal +
           "\n"
           "l3 requires l2\n"
           "}\n\n"
           "rank 1 {\n"
           "l1: " +
           await +
           "\n"
           "l2: send 16b to 2 tag 0\n"
           "l2 requires l1\n"
           "l3: calc 0\n"
           "l3 requires l2\n"
           "}\n\n"
           "rank 2 {\n"
           "l1: recv 16b from 1 tag 0\n"
           "}\n\n";
  };
  CHECK_EQUAL(written([&](std::ostream& out) { write_goal(out, plans, 8, 0.5); }),
              program("send 0b to 1 tag 0", "recv 0b from 0 tag 0"));
  CHECK_EQUAL(
      written([&](std::ostream& out) { write_goal(out, plans, 8, 0.5, GoalSignals::left_out); }),
      program("calc 0", "calc 0"));
  CHECK_THROWS(Fault::argument, written([&](std::ostream& out) { write_goal(out, plans, 8, 0); }),
               "bytes per nanosecond");
}

TEST(forms_know_events) {
  auto plans = testing::empty_plans(2, 4, 4);
  const int ready = add(plans[0], testing::event(Kind::trigger, 0, 1));
  add(plans[0], message(Kind::send, Plan::source, 0, 4, 1, 3, {ready}));
  const int came = add(plans[1], message(Kind::receive, Plan::target, 0, 4, 0, 3));
  add(plans[1], testing::event(Kind::notify, 2, 0, {came}));
  CHECK(written([&](std::ostream& out) {
          write_text(out, plans[0]);
        }).find("  0: trigger [direct] event 0, a partition for rank 1\n") != std::string::npos);
  CHECK(written([&](std::ostream& out) {
          write_text(out, plans[1]);
        }).find("  1: notify [direct] event 2, a partition from rank 0; after 0\n") !=
        std::string::npos);
  CHECK(written([&](std::ostream& out) {
          write_json(out, plans[1]);
        }).find(R"({"kind": "notify", "phase": "direct", "event": 2, "peer": 0, "after": [0]})") !=
        std::string::npos);
  CHECK_EQUAL(written([&](std::ostream& out) { write_goal(out, plans, 8, 1); }),
              "num_ranks 2\n\n"
              "rank 0 {\nl1: calc 0\nl2: send 32b to 1 tag 0\nl2 requires l1\n}\n\n"
              "rank 1 {\nl1: recv 32b from 0 tag 0\nl2: calc 0\nl2 requires l1\n}\n\n");
  CHECK_EQUAL(statistics(plans[0]).non_local.messages, 1);
}

}  // namespace vicinal::plan_forms_tests
