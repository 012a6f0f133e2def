// Runs a planner's coroutine on this rank, its letters going over MPI.
#pragma once

#include <utility>

#include "mpi/backoff.hpp"
#include "mpi/communicator.hpp"
#include "planners/conversation.hpp"

namespace vicinal::mpi {

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
      return mailbox.count(key, superstep) >= pending.expected;
    });
    pending.inbox = mailbox.take(key, superstep);
    conversation.resume();
  }
  return task.result();
}

}  // namespace vicinal::mpi
