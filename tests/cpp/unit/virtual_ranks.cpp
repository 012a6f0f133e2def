// Tests many ranks in one process: a group computes a common result once, and few ranks at a time
// hold control messages.
#include "negotiate/virtual_ranks.hpp"

#include <algorithm>
#include <memory>
#include <numeric>
#include <utility>

#include "check.hpp"

namespace vicinal::virtual_ranks_tests {
namespace {

using Found = std::shared_ptr<const std::vector<int>>;

std::vector<int> members_of(int group, int size) {
  std::vector<int> members(static_cast<std::size_t>(size));
  std::iota(members.begin(), members.end(), group * size);
  return members;
}

std::vector<ControlMessage> messages_to(const std::vector<int>& ranks) {
  std::vector<ControlMessage> messages;
  for (const int rank : ranks) messages.push_back({rank, {1}});
  return messages;
}

/// Finds the members of each group of 4, twice.
Task<std::vector<Found>> find_members(Conversation& talk, int group, int& found) {
  std::vector<Found> result;
  for (int round = 0; round < 2; ++round) {
    const std::vector<int> all = members_of(group, 4);
    const auto messages = co_await talk.exchange(messages_to(all), Expected(all, "words"));
    result.push_back(talk.alike<std::vector<int>>(group, [&] {
      ++found;
      std::vector<int> members;
      for (const ControlMessage& message : messages) members.push_back(message.peer);
      return members;
    }));
  }
  co_return result;
}

/// All ranks wait for a message from the last rank. Then the members of each group of 8 write to
/// each other, and each to one rank of the next group.
Task<Done> talk_in_groups(Conversation& talk, int rank, int ranks, int& in_progress, int& most) {
  std::vector<ControlMessage> word;
  if (rank == ranks - 1) word = messages_to(members_of(0, ranks));
  co_await talk.exchange(std::move(word), Expected(ranks - 1, "word"));

  most = std::max(most, in_progress += 8);
  const std::vector<int> own = members_of(rank / 8, 8);
  co_await talk.exchange(messages_to(own), Expected(own, "greetings"));
  in_progress -= 8;

  const std::vector<int> next(1, (rank + 8) % ranks);
  co_await talk.exchange(messages_to(next), Expected((rank + ranks - 8) % ranks, "greetings"));
  co_return Done{};
}

}  // namespace

TEST(what_virtual_ranks_find_alike_is_found_once) {
  int found = 0;
  const auto results = run_virtual<std::vector<Found>>(
      12, [&](int rank, Conversation& talk) { return find_members(talk, rank / 4, found); });
  CHECK_EQUAL(found, 2 * 3);
  for (int rank = 0; rank < 12; ++rank) {
    for (std::size_t round = 0; round < 2; ++round) {
      const Found& mine = results[static_cast<std::size_t>(rank)][round];
      CHECK(mine == results[static_cast<std::size_t>(rank / 4 * 4)][round]);
      CHECK(*mine == members_of(rank / 4, 4));
    }
  }
}

TEST(what_one_rank_of_a_process_finds_is_its_own) {
  Conversation talk;
  const auto one = talk.alike<int>(0, [] { return 1; });
  const auto other = talk.alike<int>(0, [] { return 2; });
  CHECK(*one == 1 && *other == 2);
}

TEST(what_nobody_keeps_is_found_again) {
  SharedFindings shared;
  for (int time = 0; time < 2; ++time) {
    CHECK_EQUAL(*shared.once<int>(0, 0, [&] { return time; }), time);
  }
  const auto kept = shared.once<int>(0, 0, [] { return 2; });
  CHECK_EQUAL(*shared.once<int>(0, 0, [] { return 3; }), 2);
  CHECK_EQUAL(*shared.once<int>(1, 0, [] { return 4; }), 4);
  CHECK_EQUAL(*shared.once<int>(0, 1, [] { return 5; }), 5);
  CHECK_EQUAL(*shared.once<long>(0, 0, [] { return 6L; }), 6L);
}

TEST(few_virtual_ranks_have_messages_at_once) {
  int in_progress = 0, most = 0;
  run_virtual<Done>(512, [&](int rank, Conversation& talk) {
    return talk_in_groups(talk, rank, 512, in_progress, most);
  });
  CHECK_EQUAL(in_progress, 0);
  CHECK(most <= 2 * 8 * 8);  // two groups out of 64
}

}  // namespace vicinal::virtual_ranks_tests
