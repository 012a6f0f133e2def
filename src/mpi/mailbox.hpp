// Control messages of planners. A communicator may have many conversations at once (one for each
// graph, or thread), in different supersteps on different ranks. One reserved tag carries them all,
// and each control message names its conversation. A control message is filed as soon as it
// arrives, so none blocks another inside MPI. Between ranks that share memory, short control
// messages go through shared memory.
#pragma once

#include <mpi.h>

#include <compare>
#include <cstddef>
#include <cstdint>
#include <list>
#include <map>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "base/conversation.hpp"
#include "base/guarded.hpp"
#include "memory/arena.hpp"
#include "memory/word_ring.hpp"

namespace vicinal::mpi {

/// Identifies a conversation on a communicator; identical on all participating ranks.
struct ConversationKey {
  std::int64_t graph = 0;
  std::int64_t sequence = 0;
  /// Distinguishes simultaneous conversations of the same number: 0, or the fingerprint of what the
  /// ranks must have in common to understand each other. Ranks that differ in it never mix their
  /// control messages.
  std::int64_t topic = 0;
  friend auto operator<=>(const ConversationKey&, const ConversationKey&) = default;
};

class Mailbox {
 public:
  /// Control messages go over `communicator` (private, MPI_ERRORS_RETURN) with `tag`, which must
  /// have no other use.
  Mailbox(MPI_Comm communicator, int tag);
  Mailbox(const Mailbox&) = delete;
  Mailbox& operator=(const Mailbox&) = delete;
  ~Mailbox();

  /// Allocates memory for the control messages to this rank, for share_memory(). Throws a memory
  /// fault if there is no room.
  static std::int64_t make_inbox(Arena& arena) { return arena.allocate(WordRing::bytes()); }
  /// From now on, puts control messages to ranks that have an inbox in the arena there. `inboxes`
  /// has the offset of each rank's inbox, this rank included; 0 for none.
  void share_memory(std::shared_ptr<Arena> arena, std::span<const std::int64_t> inboxes);

  /// Starts a send; keeps the words until it completes. Messages to the own rank bypass MPI. A
  /// synchronous message counts as unsent until its receiver has it. Throws a rank fault for a peer
  /// outside the communicator, an unsupported fault for a message too long for an int count.
  void post(ConversationKey key, int superstep, ControlMessage control_message,
            bool synchronous = false);
  /// Starts the sends of a superstep; packs the control messages to one rank into one message.
  /// Returns the number of messages.
  std::size_t post_all(ConversationKey key, int superstep,
                       std::vector<ControlMessage> control_messages);

  /// Progresses sends and files arrived control messages. Never blocks. Returns whether it filed
  /// any. Throws `std::bad_alloc` if it fails to allocate for one; a later call receives that one.
  bool collect();
  /// As collect(), for shared memory alone, which takes little time.
  bool collect_nearby();
  /// Returns whether control messages from a rank come through shared memory, unless that is full.
  [[nodiscard]] bool is_nearby(int rank) const {
    return rank == rank_ || (!inboxes_.empty() && inboxes_[static_cast<std::size_t>(rank)]);
  }

  /// Number of control messages of a superstep that have arrived.
  [[nodiscard]] std::size_t count(ConversationKey key, int superstep) const;

  /// Removes and returns the control messages of a superstep, ordered by sender, then as sent.
  std::vector<ControlMessage> take(ConversationKey key, int superstep);

  /// Returns copies of the arrived control messages, which stay.
  std::vector<ControlMessage> look(ConversationKey key, int superstep) const;

  /// Returns the senders of filed control messages of other conversations, each with the key of one
  /// of them. Thread-safe: returns nothing while another thread uses the mailbox.
  std::map<int, ConversationKey> senders_besides(ConversationKey own) const;

  /// Number of sends that MPI has not completed.
  [[nodiscard]] std::size_t unsent() const;

  /// Releases the communicator: unfinished messages stay allocated for MPI to finish.
  void close() noexcept;

 private:
  struct Box {
    std::vector<ControlMessage> control_messages;
    std::vector<std::int64_t> numbers;  ///< of the messages, as their senders count them
  };
  struct Message {
    MPI_Request request = MPI_REQUEST_NULL;
    Words words;
  };
  using Address = std::pair<ConversationKey, int>;

  /// A control message that MPI has matched, and that this rank then failed to allocate memory for.
  struct Arrival {
    MPI_Message message = MPI_MESSAGE_NULL;
    int count = 0;
  };

  [[nodiscard]] Words begin_message(ConversationKey key, int superstep) VICINAL_REQUIRES(mutex_);
  void file(Address address, ControlMessage control_message, std::int64_t number)
      VICINAL_REQUIRES(mutex_);
  /// Files the control messages of a message, each preceded by its length.
  void file_all(const Message& message) VICINAL_REQUIRES(mutex_);
  void check_message(const ControlMessage& control_message) const;
  void send(Words words, int peer, bool synchronous) VICINAL_REQUIRES(mutex_);
  void empty_inbox() VICINAL_REQUIRES(mutex_);
  void receive_arrivals() VICINAL_REQUIRES(mutex_);
  bool find_arrival() VICINAL_REQUIRES(mutex_);
  void finish_sends() VICINAL_REQUIRES(mutex_);
  bool finish_receives() VICINAL_REQUIRES(mutex_);

  MPI_Comm communicator_;
  int tag_;
  int rank_ = 0;
  int size_ = 0;
  mutable Mutex mutex_;
  std::map<Address, Box> boxes_ VICINAL_GUARDED_BY(mutex_);
  std::list<Message> sends_ VICINAL_GUARDED_BY(mutex_);
  std::list<Message> receives_ VICINAL_GUARDED_BY(mutex_);
  Arrival arrival_ VICINAL_GUARDED_BY(mutex_);  ///< the next to be received
  std::int64_t messages_ VICINAL_GUARDED_BY(mutex_) =
      0;                           ///< sent so far, those to this rank included
  std::shared_ptr<Arena> arena_;   ///< keeps the inboxes mapped
  std::vector<WordRing> inboxes_;  ///< by rank; empty before share_memory()
};

}  // namespace vicinal::mpi
