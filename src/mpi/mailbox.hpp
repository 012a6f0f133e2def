// Letters of planners. Many conversations may be under way on a communicator at once (one for each
// graph, or thread), in different supersteps on different ranks, so one reserved tag carries them
// all and each letter says what it belongs to. Whatever arrives is filed at once; MPI never holds a
// letter that blocks another. Between ranks that share memory, letters go through that, where they are short.
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

/// Which conversation on a communicator; the same on all ranks that take part.
struct ConversationKey {
  std::int64_t graph = 0;
  std::int64_t sequence = 0;
  /// Of conversations of the same number that go on at the same time: 0, or the fingerprint of what the ranks must
  /// have alike for their letters to mean the same. Letters of ranks that have not never mix.
  std::int64_t topic = 0;
  friend auto operator<=>(const ConversationKey&, const ConversationKey&) = default;
};

class Mailbox {
 public:
  /// Letters go over `communicator` (private, MPI_ERRORS_RETURN) with `tag`, which nobody else
  /// uses.
  Mailbox(MPI_Comm communicator, int tag);
  Mailbox(const Mailbox&) = delete;
  Mailbox& operator=(const Mailbox&) = delete;
  ~Mailbox();

  /// Memory for the letters to this rank, for share_memory(); throws a memory fault where there is no room.
  static std::int64_t make_inbox(Arena& arena) { return arena.allocate(WordRing::bytes()); }
  /// From now on, letters to ranks that have an inbox in the arena are put there. `inboxes`: of each rank, this one included, where it
  /// is; 0 for none.
  void share_memory(std::shared_ptr<Arena> arena, std::span<const std::int64_t> inboxes);

  /// Starts to send; the words are kept until they are gone. To the own rank without MPI. Throws a
  /// rank fault for a peer outside the communicator, an unsupported fault for a letter beyond 2^31
  /// words. A synchronous one counts as unsent until its receiver has it.
  void post(ConversationKey key, int superstep, Letter letter, bool synchronous = false);
  /// Starts to send those of a superstep, all to one rank in one message. Returns how many messages that takes.
  std::size_t post_all(ConversationKey key, int superstep, std::vector<Letter> letters);

  /// Progresses sends and files what has arrived. Never blocks. True where something was filed. What this rank has no memory
  /// for, which is thrown, is received by a later one.
  bool collect();
  /// The same of letters in shared memory alone, which takes little time.
  bool collect_nearby();
  /// Whether letters from a rank come through shared memory, unless that is full.
  [[nodiscard]] bool is_nearby(int rank) const {
    return rank == rank_ || (!inboxes_.empty() && inboxes_[static_cast<std::size_t>(rank)]);
  }

  /// How many letters of a superstep are there.
  [[nodiscard]] std::size_t count(ConversationKey key, int superstep) const;

  /// Removes and returns the letters of a superstep, ordered by sender, then as sent.
  std::vector<Letter> take(ConversationKey key, int superstep);

  /// Those that are there, which stay.
  std::vector<Letter> look(ConversationKey key, int superstep) const;

  /// Who has sent letters of other conversations, which are still there, with the key of one of them. From any thread:
  /// nothing while another one uses the mailbox.
  std::map<int, ConversationKey> senders_besides(ConversationKey own) const;

  /// Sends that MPI has not finished with.
  [[nodiscard]] std::size_t unsent() const;

  /// Lets go of the communicator: what is unfinished stays allocated for MPI to finish.
  void close() noexcept;

 private:
  struct Box {
    std::vector<Letter> letters;
    std::vector<std::int64_t> numbers;  ///< of the messages, as their senders count them
  };
  struct Message {
    MPI_Request request = MPI_REQUEST_NULL;
    Words words;
  };
  using Address = std::pair<ConversationKey, int>;

  /// A letter that MPI has given out, and that this rank had no memory for when it did.
  struct Arrival {
    MPI_Message message = MPI_MESSAGE_NULL;
    int count = 0;
  };

  [[nodiscard]] Words begin_message(ConversationKey key, int superstep) VICINAL_REQUIRES(mutex_);
  void file(Address address, Letter letter, std::int64_t number) VICINAL_REQUIRES(mutex_);
  /// The letters of a message, each with its length before it.
  void file_all(const Message& message) VICINAL_REQUIRES(mutex_);
  void check_letter(const Letter& letter) const;
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
  std::vector<WordRing> inboxes_;  ///< by rank; none before there are any
};

}  // namespace vicinal::mpi
