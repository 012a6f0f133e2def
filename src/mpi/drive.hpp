// Runs a planner's coroutine on this rank, its letters going over MPI.
#pragma once

#include <string>
#include <utility>

#include "base/conversation.hpp"
#include "mpi/backoff.hpp"
#include "mpi/communicator.hpp"

namespace vicinal::mpi {

/// The superstep of letters that say that their sender has given up a conversation.
constexpr int failure_notice = -1;

/// Throws a fault of kind `elsewhere` where a rank has given up this conversation, or the creation of
/// its graph (sequence 0).
inline void heed_notices(Mailbox& mailbox, ConversationKey key) {
  for (const ConversationKey which : {ConversationKey{key.graph, 0}, key}) {
    if (mailbox.count(which, failure_notice) == 0) continue;
    const auto letters = mailbox.take(which, failure_notice);
    fail(Fault::elsewhere, which.sequence == 0 ? "creating the graph" : "planning",
         " failed on rank ", letters.front().peer, "; the message on that rank, or on one that it ",
         "names, says more");
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
      heed_notices(mailbox, key);
      return false;
    });
    pending.inbox = mailbox.take(key, superstep);
    conversation.resume();
  }
  return task.result();
}

}  // namespace vicinal::mpi
