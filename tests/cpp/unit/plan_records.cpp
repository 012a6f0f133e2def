// Tests plans and patterns as records: they are read as they were written, and malformed ones are
// refused.
#include "negotiate/proof.hpp"

#include <sstream>

#include "../check.hpp"
#include "../relay_plans.hpp"
#include "plan/checks.hpp"

namespace vicinal::plan_records_tests {

namespace {

using testing::add;
using testing::flagging;
using testing::message;
using testing::moving;
using Kind = OperationKind;

std::string json_of(const Plan& plan) {
  std::ostringstream out;
  write_json(out, plan);
  return out.str();
}

/// Returns a plan with every kind of buffer and operation, and no field left at its default.
Plan rich_plan() {
  Plan plan = testing::empty_plans(3, 4, 5)[1];
  plan.planner = "by hand, \xc3\xa4";
  plan.reverse = true;
  const int staging = add(plan, Buffer{Space::staging, 7});
  const int slot = add(plan, Buffer{Space::shared, 2, 5, 1, -1, 3});
  const int view = add(plan, Buffer{Space::shared, 2, 1099511627776, 2, 4});
  const int first =
      add(plan, moving(Kind::copy, Phase::gather, Plan::source, staging, {{3, 0, 1}, {0, 1, 1}}));
  const int second =
      add(plan, moving(Kind::reduce, Phase::halving, staging, slot, {{0, 1, 1}}, {first}));
  add(plan, flagging(Kind::await, Phase::local, view, 3, 1, {first, second}));
  add(plan, flagging(Kind::signal, Phase::scatter, slot, -1, 0, {second}));
  add(plan, message(Kind::receive, staging, 1, 2, 0, 90));
  add(plan, message(Kind::send, slot, 0, 2, 2, 91, {second}));
  plan.operations.back().local = true;
  add(plan, testing::event(Kind::trigger, 3, 2));
  add(plan, testing::event(Kind::notify, 1, 0, {first}));
  return plan;
}

Pattern rich_pattern() {
  Pattern pattern;
  pattern.out = {{0, {{5, 1, 2}, {2305843009213693957, 0, 1}}}, {2, {}}};
  pattern.in = {{2, 3, {{0, 4, 3}}}};
  pattern.identity = true;
  pattern.out[0].partitions = 4;
  pattern.in[0].partitions = 3;
  return pattern;
}

}  // namespace

TEST(plans_are_read_as_they_were_written) {
  Words words;
  WordWriter writer(words);
  writer.write(rich_plan());
  writer.write(rich_pattern());
  writer.write(testing::empty_plans(2, 0, 0)[0]);
  WordReader reader(words, "plans");
  CHECK_EQUAL(json_of(reader.read<Plan>()), json_of(rich_plan()));
  const auto pattern = reader.read<Pattern>();
  const Pattern expected = rich_pattern();
  CHECK(pattern.identity);
  CHECK_EQUAL(pattern.out.size(), expected.out.size());
  for (std::size_t i = 0; i < expected.out.size(); ++i) {
    CHECK_EQUAL(pattern.out[i].rank, expected.out[i].rank);
    CHECK(pattern.out[i].items == expected.out[i].items);
    CHECK_EQUAL(pattern.out[i].partitions, expected.out[i].partitions);
  }
  CHECK_EQUAL(pattern.in.size(), std::size_t{1});
  CHECK_EQUAL(pattern.in[0].rank, 2);
  CHECK_EQUAL(pattern.in[0].count, 3);
  CHECK_EQUAL(pattern.in[0].partitions, 3);
  CHECK(pattern.in[0].slots == expected.in[0].slots);
  CHECK_EQUAL(json_of(reader.read<Plan>()), json_of(testing::empty_plans(2, 0, 0)[0]));
  reader.finish();
}

TEST(words_that_are_no_plan_are_refused) {
  Words words;
  WordWriter(words).write(rich_plan());
  for (std::size_t size = 0; size < words.size(); ++size) {
    WordReader reader(std::span<const std::int64_t>(words).first(size), "a plan");
    bool refused = false;
    try {
      reader.read<Plan>();
    } catch (const Error& error) {
      refused = error.fault() == Fault::internal;
    }
    CHECK(refused);
  }
  words[2] = -1;  // length of the planner's name
  CHECK_THROWS(Fault::internal, WordReader(words, "a plan").read<Plan>(), "announces -1 entries");
}

}  // namespace vicinal::plan_records_tests
