// Runs a planner's coroutine on this rank, its letters going over MPI.
#pragma once

#include <cstdint>
#include <exception>
#include <set>
#include <string>
#include <utility>

#include "base/conversation.hpp"
#include "mpi/backoff.hpp"
#include "mpi/communicator.hpp"

namespace vicinal::mpi {

/// The superstep of letters that say that their sender has no plan. Their one word is the rank with
/// which it began.
enum Notice : int {
  notice_left = -1,   ///< it has left the conversation: who talks to it waits in vain
  notice_ended = -2,  ///< it has not; only who has a plan, and starts it, waits in vain
};

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

/// Sends a notice to other ranks. What cannot be sent is left: there is a fault to report already.
inline void give_notice(Communicator& communicator, ConversationKey key, Notice notice, int origin,
                        const std::set<int>& ranks) noexcept {
  communicator.keep_for_good();
  try {
    for (const int rank : ranks) communicator.mailbox().post(key, notice, {rank, {origin}}, true);
  } catch (const std::exception&) {
    return;
  }
}

/// The sequence of notices that a whole graph, once created, was given up.
constexpr std::int64_t sequence_given_up = -1;

/// Throws FaultElsewhere where there is such a notice of this conversation, or one that its graph
/// could not be created (sequence 0), or was given up.
inline void heed_notices(Communicator& communicator, ConversationKey key, Notice notice) {
  Mailbox& mailbox = communicator.mailbox();
  const bool creates = key.sequence == 0;
  for (const std::int64_t sequence : {std::int64_t{0}, sequence_given_up, key.sequence}) {
    const ConversationKey which{key.graph, sequence};
    // A rank that has its graph may have given it up while others still create theirs.
    if (creates && sequence != 0) continue;
    if (mailbox.count(which, notice) == 0) continue;
    const Words first = mailbox.take(which, notice).front().words;
    // Whatever is tried with this graph must fail, not only the first time.
    if (sequence <= 0) mailbox.post(which, notice, {communicator.rank(), first});
    const int origin = static_cast<int>(first.front());
    throw FaultElsewhere(origin, sequence <= 0 ? "the graph" : "the exchange");
  }
}

/// Runs `task` to its end and returns its result, or throws what ended it. Polls, and progresses
/// active plans meanwhile. `key` is the same on all ranks of the conversation and used once.
template <class T>
T drive(Communicator& communicator, ConversationKey key, Conversation& conversation,
        Task<T>& task) {
  Mailbox& mailbox = communicator.mailbox();
  while (!task.done()) {
    require(conversation.waiting(), Fault::internal,
            "a planner stopped without waiting for an exchange");
    const int superstep = conversation.superstep();
    Conversation::Pending& pending = conversation.pending();
    for (Letter& letter : pending.outbox) mailbox.post(key, superstep, std::move(letter));
    pending.outbox.clear();
    poll_until([&] {
      mailbox.collect();
      if (mailbox.count(key, superstep) >= pending.expected) return true;
      heed_notices(communicator, key, notice_left);
      return false;
    });
    pending.inbox = mailbox.take(key, superstep);
    conversation.resume();
  }
  return task.result();
}

}  // namespace vicinal::mpi
