// Control messages, and the driver that runs planners over MPI.
#include "mpi/mailbox.hpp"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <thread>
#include <vector>

#include "check.hpp"
#include "collectives/graph_tags.hpp"
#include "mpi/collectives.hpp"
#include "mpi/drive.hpp"

namespace vicinal::mpi::mailbox_tests {
namespace {

std::shared_ptr<Communicator> world() { return Communicator::of(MPI_COMM_WORLD); }

ConversationKey fresh_key() { return {next_graph_number(*world()), 0}; }

void wait_for(Mailbox& mailbox, ConversationKey key, int superstep, std::size_t messages) {
  poll_until([&] {
    mailbox.collect();
    return mailbox.count(key, superstep) >= messages;
  });
}

void wait_until_sent(Mailbox& mailbox) {
  poll_until([&] {
    mailbox.collect();
    return mailbox.unsent() == 0;
  });
}

TEST(mailbox_sorts_messages_by_sender_then_as_sent) {
  const auto communicator = world();
  Mailbox& mailbox = communicator->mailbox();
  const ConversationKey key = fresh_key();
  // The first control message to each peer is large, and thus completes after the later ones.
  const std::vector<std::size_t> lengths{300000, 1, 0, 5};
  for (std::size_t i = 0; i < lengths.size(); ++i) {
    for (int peer = 0; peer < communicator->size(); ++peer) {
      Words words(lengths[i], communicator->rank() * 10 + static_cast<int>(i));
      mailbox.post(key, 3, {peer, std::move(words)});
    }
  }
  const auto expected = lengths.size() * static_cast<std::size_t>(communicator->size());
  wait_for(mailbox, key, 3, expected);
  const std::vector<ControlMessage> messages = mailbox.take(key, 3);
  CHECK_EQUAL(messages.size(), expected);
  for (std::size_t i = 0; i < expected; ++i) {
    const int peer = static_cast<int>(i / lengths.size());
    const std::size_t which = i % lengths.size();
    CHECK_EQUAL(messages[i].peer, peer);
    CHECK_EQUAL(messages[i].words.size(), lengths[which]);
    for (const std::int64_t word : messages[i].words) {
      if (word != peer * 10 + static_cast<int>(which)) CHECK_EQUAL(word, peer * 10);
    }
  }
  CHECK_EQUAL(mailbox.count(key, 3), std::size_t{0});
  CHECK(mailbox.take(key, 3).empty());
  wait_until_sent(mailbox);
}

TEST(mailbox_keeps_conversations_apart) {
  const auto communicator = world();
  Mailbox& mailbox = communicator->mailbox();
  const ConversationKey key = fresh_key();
  const ConversationKey again{key.graph, 1};
  const ConversationKey other = fresh_key();
  const int next = (communicator->rank() + 1) % communicator->size();
  mailbox.post(other, 0, {next, {3}});
  mailbox.post(key, 1, {next, {1}});
  mailbox.post(again, 0, {next, {2}});
  mailbox.post(key, 0, {next, {0}});
  wait_for(mailbox, key, 0, 1);
  wait_for(mailbox, key, 1, 1);
  wait_for(mailbox, again, 0, 1);
  wait_for(mailbox, other, 0, 1);
  CHECK((mailbox.take(key, 0).front().words == Words{0}));
  CHECK((mailbox.take(key, 1).front().words == Words{1}));
  CHECK((mailbox.take(again, 0).front().words == Words{2}));
  CHECK((mailbox.take(other, 0).front().words == Words{3}));
}

TEST(mailbox_sends_all_control_messages_to_a_rank_in_one) {
  const auto communicator = world();
  Mailbox& mailbox = communicator->mailbox();
  const ConversationKey key = fresh_key();
  const int rank = communicator->rank(), size = communicator->size();
  std::vector<ControlMessage> messages;
  for (int i = 0; i < 3; ++i) {
    for (int peer = 0; peer < size; ++peer) {
      messages.push_back({peer, Words(static_cast<std::size_t>(i), 10 * rank + i)});
    }
  }
  for (int peer = 0; peer < size; ++peer) messages.push_back({peer, {rank}, 4});
  // Control messages for a later superstep are sent separately.
  CHECK_EQUAL(mailbox.post_all(key, 0, std::move(messages)),
              static_cast<std::size_t>(2 * (size - 1)));
  wait_for(mailbox, key, 0, 3 * static_cast<std::size_t>(size));
  const std::vector<ControlMessage> now = mailbox.take(key, 0);
  CHECK_EQUAL(now.size(), 3 * static_cast<std::size_t>(size));
  for (std::size_t i = 0; i < now.size(); ++i) {
    const int peer = static_cast<int>(i / 3), which = static_cast<int>(i % 3);
    CHECK_EQUAL(now[i].peer, peer);
    CHECK((now[i].words == Words(static_cast<std::size_t>(which), 10 * peer + which)));
  }
  wait_for(mailbox, key, 4, static_cast<std::size_t>(size));
  for (const ControlMessage& later : mailbox.take(key, 4))
    CHECK((later.words == Words{later.peer}));
  wait_until_sent(mailbox);
}

TEST(mailbox_keeps_the_order_where_shared_memory_is_full) {
  const auto communicator = world();
  Mailbox& mailbox = communicator->mailbox();
  const ConversationKey key = fresh_key();
  constexpr std::size_t each = 60;
  for (std::size_t i = 0; i < each; ++i) {
    for (int peer = 0; peer < communicator->size(); ++peer) {
      mailbox.post(key, 0, {peer, Words(250, static_cast<std::int64_t>(i))});
    }
  }
  wait_for(mailbox, key, 0, each * static_cast<std::size_t>(communicator->size()));
  const std::vector<ControlMessage> messages = mailbox.take(key, 0);
  for (std::size_t i = 0; i < messages.size(); ++i) {
    CHECK_EQUAL(messages[i].peer, static_cast<int>(i / each));
    CHECK((messages[i].words == Words(250, static_cast<std::int64_t>(i % each))));
  }
  wait_until_sent(mailbox);
}

TEST(mailbox_refuses_ranks_outside) {
  const auto communicator = world();
  CHECK_THROWS(Fault::rank, communicator->mailbox().post({}, 0, {communicator->size(), {}}),
               "a control message to rank");
  CHECK_THROWS(Fault::rank, communicator->mailbox().post({}, 0, {-1, {}}),
               "a control message to rank -1");
}

Task<std::int64_t> ask(Conversation& conversation, int peer, int from) {
  std::vector<ControlMessage> outbox(1, {peer, {peer}});
  const auto inbox = co_await conversation.exchange(std::move(outbox), Expected(from, "answer"));
  co_return inbox.front().words.front();
}

/// Each rank sends around the ring for `rounds` supersteps, and returns the sum of the answers.
Task<std::int64_t> ring(Conversation& conversation, int rank, int size, int rounds) {
  std::int64_t sum = 0;
  for (int round = 0; round < rounds; ++round) {
    sum += co_await ask(conversation, (rank + round) % size, (rank + size - round % size) % size);
  }
  // A superstep without control messages.
  std::vector<ControlMessage> nothing;
  co_await conversation.exchange(std::move(nothing));
  co_return sum;
}

TEST(drive_runs_a_conversation) {
  const auto communicator = world();
  for (int repetition = 0; repetition < 20; ++repetition) {
    Conversation conversation;
    auto task = ring(conversation, communicator->rank(), communicator->size(), 7);
    CHECK_EQUAL(drive(*communicator, fresh_key(), conversation, task), 7 * communicator->rank());
  }
}

Task<int> give_up(Conversation& conversation, int rank) {
  std::vector<ControlMessage> outbox(1, {rank, {}});
  co_await conversation.exchange(std::move(outbox), Expected(rank, "control message"));
  fail(Fault::count, "rank ", rank, " gives up");
}

TEST(drive_hands_on_what_a_planner_throws) {
  const auto communicator = world();
  Conversation conversation;
  auto task = give_up(conversation, communicator->rank());
  CHECK_THROWS(Fault::count, drive(*communicator, fresh_key(), conversation, task), "gives up");
}

TEST(a_notice_is_heard_by_all_threads_that_look_for_it) {
  if (!thread_multiple()) testing::skip("needs MPI_THREAD_MULTIPLE");
  const auto communicator = world();
  const ConversationKey key = fresh_key();
  const int rank = communicator->rank();
  communicator->mailbox().post(key, notice, {rank, {rank}});
  constexpr int looks = 2000;
  std::atomic<int> heard = 0;
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&] {
      for (int look = 0; look < looks; ++look) {
        try {
          check_notices(*communicator, key);
        } catch (const Error& error) {
          if (error.origin() == rank) ++heard;
        }
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  CHECK_EQUAL(heard.load(), 4 * looks);
  communicator->mailbox().take(key, notice);
}

std::atomic<int> progress_calls = 0;

TEST(drive_progresses_active_plans) {
  const auto communicator = world();
  if (communicator->size() == 1) testing::skip("needs 2 ranks");
  progress_calls = 0;
  const auto before = progress_hook;
  progress_hook = [] { ++progress_calls; };
  // One rank at a time comes late, so that all other ranks have to wait.
  for (int late = 0; late < communicator->size(); ++late) {
    if (late == communicator->rank()) std::this_thread::sleep_for(std::chrono::milliseconds(10));
    Conversation conversation;
    auto task = ring(conversation, communicator->rank(), communicator->size(), 50);
    drive(*communicator, fresh_key(), conversation, task);
  }
  progress_hook = before;
  CHECK(progress_calls > 0);
}

TEST(drive_in_several_threads) {
  if (!thread_multiple()) testing::skip("needs MPI_THREAD_MULTIPLE");
  const auto communicator = world();
  constexpr int threads = 3;
  std::vector<ConversationKey> keys;
  for (int i = 0; i < threads; ++i) keys.push_back(fresh_key());
  std::atomic<int> right = 0;
  std::vector<std::thread> running;
  for (const ConversationKey key : keys) {
    running.emplace_back([&, key] {
      Conversation conversation;
      auto task = ring(conversation, communicator->rank(), communicator->size(), 20);
      if (drive(*communicator, key, conversation, task) == std::int64_t{20} * communicator->rank())
        ++right;
    });
  }
  for (std::thread& thread : running) thread.join();
  CHECK_EQUAL(right.load(), threads);
}

TEST(collectives_of_the_set_up) {
  const auto communicator = world();
  const int size = communicator->size();
  const int rank = communicator->rank();
  std::vector<std::int64_t> values{-rank, rank, (rank + 1) % size};
  allreduce_min(communicator->handle(), values);
  CHECK((values == std::vector<std::int64_t>{-(size - 1), 0, 0}));
  values = {rank, rank};
  for (const Reduction reduction : {Reduction::min, Reduction::max}) {
    const auto value = std::span(values).subspan(reduction == Reduction::min ? 0 : 1, 1);
    PendingOperation request = iallreduce(communicator->handle(), value, reduction);
    poll_until([&] { return request.test(); });
  }
  CHECK((values == std::vector<std::int64_t>{0, size - 1}));
  std::vector<std::int64_t> contributions(static_cast<std::size_t>(size));
  for (int to = 0; to < size; ++to) contributions[static_cast<std::size_t>(to)] = 100 * to + rank;
  const std::int64_t sum = 100 * rank * size + size * (size - 1) / 2;
  CHECK_EQUAL(reduce_scatter(communicator->handle(), contributions), sum);
  // Odd ranks and even ranks reduce among themselves, concurrently.
  std::vector<int> alike;
  for (int other = rank % 2; other < size; other += 2) alike.push_back(other);
  std::int64_t expected = 0;
  for (const int other : alike) expected += 100 * rank + other;
  contributions.clear();
  for (const int to : alike) contributions.push_back(100 * to + rank);
  CHECK_EQUAL(reduce_scatter(communicator->handle(), {alike, rank / 2}, contributions), expected);
}

TEST(discovery_building_blocks) {
  // Nonblocking consensus: every rank sends to the next two. Only the barrier shows that all
  // messages have arrived.
  const auto communicator = world();
  const int size = communicator->size();
  const int rank = communicator->rank();
  const std::vector<std::int64_t> text{rank, 42};
  std::vector<PendingOperation> sends;
  for (const int step : {1, 2}) {
    sends.push_back(issend(communicator->handle(), std::as_bytes(std::span(text)),
                           (rank + step) % size, tag_discovery_even));
  }
  std::vector<int> senders;
  PendingOperation finished;
  bool entered = false;
  poll_until([&] {
    if (auto arrival = improbe(communicator->handle(), tag_discovery_even)) {
      std::vector<std::int64_t> received(static_cast<std::size_t>(arrival->bytes) / 8);
      receive(*arrival, std::as_writable_bytes(std::span(received)));
      CHECK((received == std::vector<std::int64_t>{arrival->peer, 42}));
      senders.push_back(arrival->peer);
    }
    if (!entered && test_all(sends)) {
      finished = ibarrier(communicator->handle());
      entered = true;
    }
    return entered && finished.test();
  });
  std::sort(senders.begin(), senders.end());
  std::vector<int> expected{(rank + size - 1) % size, (rank + 2 * size - 2) % size};
  std::sort(expected.begin(), expected.end());
  CHECK(senders == expected);
}

}  // namespace
}  // namespace vicinal::mpi::mailbox_tests
