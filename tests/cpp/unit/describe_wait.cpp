// Tests the description of a waiting rank, by the control messages that have arrived.
#include "base/conversation.hpp"
#include "check.hpp"

namespace vicinal::describe_wait_tests {
namespace {

Conversation::Pending pending(Expected expected, std::string_view purpose) {
  return {{}, std::move(expected), {}, purpose};
}

Expected unnamed(std::size_t count, Missing missing) {
  Expected expected;
  expected.add_unnamed(Expected::any_kind, count, std::move(missing));
  return expected;
}

std::vector<ControlMessage> from(std::vector<int> ranks) {
  std::vector<ControlMessage> messages;
  for (const int rank : ranks) messages.push_back({rank, {}});
  return messages;
}

}  // namespace

TEST(a_wait_names_those_who_have_not_written) {
  const auto wait = pending({{5, 1, 0, 3}, "summaries"}, "planning aggregate");
  CHECK_EQUAL(describe_wait(wait, from({0})),
              "rank 1's, rank 3's and rank 5's summaries, planning aggregate");
  CHECK_EQUAL(describe_wait(wait, from({3, 0})),
              "rank 1's and rank 5's summaries, planning aggregate");
  CHECK_EQUAL(describe_wait(wait, from({5, 0, 3})), "rank 1's summaries, planning aggregate");
  CHECK_EQUAL(describe_wait(wait, from({5, 0, 3, 1})),
              "nobody: all control messages are there, planning aggregate");
}

TEST(a_wait_counts_several_messages_of_one_rank) {
  const auto wait = pending({{2, 2, 4}, "offers"}, "");
  CHECK_EQUAL(describe_wait(wait, from({2, 4})), "rank 2's offers");
  CHECK_EQUAL(describe_wait(wait, from({2, 2})), "rank 4's offers");
}

TEST(a_wait_names_edges_where_the_carrier_is_unknown) {
  const auto wait = [](std::vector<int> sources) {
    return pending(unnamed(9, [sources](auto) { return carriers_of(sources); }), "planning split");
  };
  CHECK_EQUAL(describe_wait(wait({3, 7}), {}),
              "whoever carries the edges from ranks 3 and 7, planning split");
  CHECK_EQUAL(describe_wait(wait({4}), {}), "whoever carries the edge from rank 4, planning split");
}

TEST(a_wait_for_many_names_the_first) {
  std::vector<int> many;
  for (int rank = 0; rank < 40; ++rank) many.push_back(rank);
  const auto wait = pending({many, "reports"}, "");
  CHECK_EQUAL(describe_wait(wait, from({0, 2})),
              "rank 1's, rank 3's, rank 4's, rank 5's, rank 6's, rank 7's, rank 8's, rank 9's and "
              "30 others' reports");
}

TEST(a_wait_for_messages_of_two_kinds_tells_them_apart) {
  Expected expected;
  expected.add(1, {2, 4}, "offers");
  expected.add(2, {2}, "expectations");
  const auto wait = pending(std::move(expected), "");
  CHECK_EQUAL(describe_wait(wait, {}), "rank 2's and rank 4's offers, rank 2's expectations");
  const std::vector<ControlMessage> arrived{{2, {2}}, {4, {1}}};
  CHECK_EQUAL(describe_wait(wait, arrived), "rank 2's offers");
}

TEST(a_wait_without_names_gives_numbers) {
  Conversation talk;
  talk.set_purpose("creating a graph");
  talk.exchange({}, unnamed(5, [](auto) { return std::string(); }));
  CHECK_EQUAL(describe_wait(talk.pending(), from({1, 2})),
              "3 of 5 control messages, creating a graph");
}

}  // namespace vicinal::describe_wait_tests
