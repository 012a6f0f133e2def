// Runs a planner's coroutine on this rank, with its control messages over MPI. Runs it step by
// step, so that a negotiation can proceed in the background, or to its end.
#pragma once

#include <atomic>
#include <chrono>
#include <concepts>
#include <cstdint>
#include <exception>
#include <ostream>
#include <set>
#include <string>
#include <thread>
#include <utility>

#include "base/conversation.hpp"
#include "mpi/backoff.hpp"
#include "mpi/communicator.hpp"

namespace vicinal::mpi {

/// Superstep of notices: control messages by which a rank says that it has left the conversation or
/// lost its result. Ranks that depend on it would wait forever. A notice has one word: the rank
/// where the fault began.
constexpr int notice = -1;

/// Sends a notice to other ranks, which may wait for nothing else. Ignores send failures: there is
/// a fault to report already.
inline void give_notice(Communicator& communicator, ConversationKey key, int origin,
                        const std::set<int>& ranks) noexcept {
  communicator.keep_for_good();
  for (const int rank : ranks) {
    try {
      communicator.mailbox().post({key.graph, key.sequence, 0}, notice, {rank, {origin}}, true);
    } catch (const std::exception&) {
      // Other ranks send the notice, too.
    }
  }
}
/// As above, to the ranks that `find` returns.
template <std::invocable Find>
void give_notice(Communicator& communicator, ConversationKey key, int origin, Find find) noexcept {
  try {
    give_notice(communicator, key, origin, find());
  } catch (const std::exception&) {
    // Without memory for the list, nobody can be told.
  }
}

/// Throws an error that names its origin if a notice of this conversation has arrived, or one that
/// its graph could not be created (sequence 0).
inline void check_notices(Communicator& communicator, ConversationKey key) {
  Mailbox& mailbox = communicator.mailbox();
  for (const std::int64_t sequence : {std::int64_t{0}, key.sequence}) {
    const ConversationKey which{key.graph, sequence, 0};
    // Notices stay: every later use of what was never agreed on must fail, in any thread.
    const std::vector<ControlMessage> notices = mailbox.look(which, notice);
    if (notices.empty()) continue;
    const int origin = static_cast<int>(notices.front().words.front());
    const std::string what = sequence == 0 ? "the graph" : "the exchange";
    throw Error(Fault::elsewhere,
                what + " failed on rank " + std::to_string(origin) +
                    "; the message on that rank, or on one that it names, says more")
        .from_rank(origin);
  }
}

/// One rank's part of a conversation. `key` is identical on all participating ranks, and used once.
class Driver {
 public:
  Driver(Communicator& communicator, ConversationKey key, Conversation& conversation)
      : communicator_(communicator), key_(key), conversation_(conversation) {}

  /// Selects where advance() receives new control messages from: everywhere; mostly shared memory
  /// if waits_nearby(), else everywhere; or nowhere. Of several conversations, one receives for
  /// all.
  enum class Look : std::uint8_t { everywhere, anew, at_what_is_there };

  /// Returns whether all expected control messages come through shared memory, unless that is full.
  [[nodiscard]] bool waits_nearby() {
    const int superstep = conversation_.superstep();
    if (std::exchange(judged_, superstep) != superstep) {
      nearby_ = conversation_.pending().expected.comes_from_all(
          [this](int rank) { return communicator_.mailbox().is_nearby(rank); });
    }
    return nearby_;
  }

  /// Does what can be done now; returns true once the task has ended. Never waits. Throws
  /// an error that names its origin if another rank has left the conversation.
  template <class T>
  bool advance(Task<T>& task, Look look = Look::anew) {
    while (busy_.test_and_set(std::memory_order_acquire)) std::this_thread::yield();
    const Hold hold(busy_);
    Mailbox& mailbox = communicator_.mailbox();
    while (!task.done()) {
      require(conversation_.waiting(), Fault::internal,
              "a planner stopped without waiting for an exchange");
      const int superstep = conversation_.superstep();
      Conversation::Pending& pending = conversation_.pending();
      messages_sent_ += mailbox.post_all(key_, superstep, std::exchange(pending.outbox, {}));
      const auto lacks = [&] { return mailbox.count(key_, superstep) < pending.expected.count(); };
      if (lacks() && look != Look::at_what_is_there) collect(look);
      if (lacks()) {
        check_notices(communicator_, key_);
        return false;
      }
      pending.inbox = mailbox.take(key_, superstep);
      conversation_.resume();
    }
    return true;
  }

  /// Number of control messages that this rank has sent to other ranks.
  [[nodiscard]] std::size_t messages_sent() const { return messages_sent_; }

  /// Writes which ranks the conversation waits for. Thread-safe: if another thread advances it,
  /// there is nothing to wait for.
  void describe(std::ostream& out) const {
    if (busy_.test_and_set(std::memory_order_acquire)) {
      out << "nothing: a control message has come";
      return;
    }
    const Hold hold(busy_);
    out << describe_wait(conversation_.pending(),
                         communicator_.mailbox().look(key_, conversation_.superstep()));
  }

 private:
  /// Releases the conversation for the next caller.
  class Hold {
   public:
    explicit Hold(std::atomic_flag& flag) : flag_(flag) {}
    Hold(const Hold&) = delete;
    Hold& operator=(const Hold&) = delete;
    ~Hold() { flag_.clear(std::memory_order_release); }

   private:
    std::atomic_flag& flag_;
  };

  void collect(Look look) {
    Mailbox& mailbox = communicator_.mailbox();
    if (look == Look::anew && waits_nearby() && ++looks_ % polls_in_a_row != 0) {
      mailbox.collect_nearby();
    } else {
      mailbox.collect();
    }
  }

  Communicator& communicator_;
  ConversationKey key_;
  Conversation& conversation_;
  int judged_ = -1;  ///< superstep for which nearby_ is known
  bool nearby_ = false;
  int looks_ = 0;
  std::size_t messages_sent_ = 0;
  mutable std::atomic_flag busy_;
};

/// Runs `task` to its end and returns its result, or throws its exception. Polls, and progresses
/// active plans meanwhile.
template <class T>
T drive(Communicator& communicator, ConversationKey key, Conversation& conversation,
        Task<T>& task) {
  Driver driver(communicator, key, conversation);
  poll_until([&] { return driver.advance(task); },
             [&](std::ostream& out) { driver.describe(out); });
  return task.result();
}

}  // namespace vicinal::mpi
