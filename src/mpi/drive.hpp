// Runs a planner's coroutine on this rank, its letters going over MPI. Step by step, so that a
// negotiation can go on in the background; or to its end.
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

/// The superstep of letters that say that their sender has left the conversation, or has lost what came
/// of it: who counts on it waits in vain. Their one word is the rank with which it began.
constexpr int notice = -1;

/// What a rank throws that has heard of a fault.
class FaultElsewhere : public Error {
 public:
  FaultElsewhere(int origin, const char* what)
      : Error(Fault::elsewhere,
              std::string(what) + " failed on rank " + std::to_string(origin) +
                  "; the message on that rank, or on one that it names, says more"),
        origin_(origin) {}
  /// The rank with which it began.
  [[nodiscard]] int origin() const { return origin_; }

 private:
  int origin_;
};

/// Does a step that takes memory, again for a second if there is none; whether it was done. Who gives notice may be in the middle of
/// something, and progresses nothing meanwhile.
template <class Step>
bool is_done_with_memory(Step step) {
  constexpr auto patience = std::chrono::seconds(1);
  const auto end = std::chrono::steady_clock::now() + patience;
  for (Backoff backoff; !has_memory_for(step); backoff.pause()) {
    if (std::chrono::steady_clock::now() > end) return false;
  }
  return true;
}

/// Sends a notice to other ranks, who may wait for nothing else. What cannot be sent is left: there is a fault to report already.
inline void give_notice(Communicator& communicator, ConversationKey key, int origin,
                        const std::set<int>& ranks) noexcept {
  communicator.keep_for_good();
  for (const int rank : ranks) {
    try {
      is_done_with_memory([&] {
        communicator.mailbox().post({key.graph, key.sequence, 0}, notice, {rank, {origin}}, true);
      });
    } catch (const std::exception&) {
      // The others tell of it, too.
    }
  }
}
/// The same, to those that a function finds.
template <std::invocable Find>
void give_notice(Communicator& communicator, ConversationKey key, int origin, Find find) noexcept {
  std::set<int> ranks;
  if (is_done_with_memory([&] { ranks = find(); })) give_notice(communicator, key, origin, ranks);
}

/// Throws FaultElsewhere where there is such a notice of this conversation, or one that its graph
/// could not be created (sequence 0).
inline void check_notices(Communicator& communicator, ConversationKey key) {
  Mailbox& mailbox = communicator.mailbox();
  for (const std::int64_t sequence : {std::int64_t{0}, key.sequence}) {
    const ConversationKey which{key.graph, sequence, 0};
    // Notices stay: whatever is tried with what was never agreed on must fail, not only the first time, and in any thread.
    const std::vector<Letter> notices = mailbox.look(which, notice);
    if (notices.empty()) continue;
    const int origin = static_cast<int>(notices.front().words.front());
    throw FaultElsewhere(origin, sequence == 0 ? "the graph" : "the exchange");
  }
}

/// One rank's part of a conversation. `key` is the same on all ranks that take part, and used once.
class Driver {
 public:
  Driver(Communicator& communicator, ConversationKey key, Conversation& conversation)
      : communicator_(communicator), key_(key), conversation_(conversation) {}

  /// Whether letters that have arrived since anybody has looked are taken in: of several conversations one does that. Anew: where
  /// this one waits for ranks alone that share memory with this one, mostly from there.
  enum class Look : std::uint8_t { everywhere, anew, at_what_is_there };

  /// Whether all that it waits for comes through shared memory, unless that is full.
  [[nodiscard]] bool waits_nearby() {
    const int superstep = conversation_.superstep();
    if (std::exchange(judged_, superstep) != superstep) {
      nearby_ = conversation_.pending().expected.comes_from_all(
          [this](int rank) { return communicator_.mailbox().is_nearby(rank); });
    }
    return nearby_;
  }

  /// Does what can be done now; true once the task has come to its end. Never waits. Throws
  /// FaultElsewhere where another rank has left the conversation.
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

  /// How many control messages this rank has sent to others.
  [[nodiscard]] std::size_t messages_sent() const { return messages_sent_; }

  /// Says for whom it waits. From any thread: while another advances it, there is nothing to wait for.
  void describe(std::ostream& out) const {
    if (busy_.test_and_set(std::memory_order_acquire)) {
      out << "nothing: a letter has come";
      return;
    }
    const Hold hold(busy_);
    out << describe_wait(conversation_.pending(),
                         communicator_.mailbox().look(key_, conversation_.superstep()));
  }

 private:
  /// Gives the conversation back to whoever asks for it next.
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
  int judged_ = -1;  ///< the superstep of which it is known whether it waits nearby
  bool nearby_ = false;
  int looks_ = 0;
  std::size_t messages_sent_ = 0;
  mutable std::atomic_flag busy_;
};

/// Runs `task` to its end and returns its result, or throws what ended it. Polls, and progresses
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
