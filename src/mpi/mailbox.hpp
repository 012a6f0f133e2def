// Letters of planners. Many conversations may be under way on a communicator at once (one for each
// graph, or thread), in different supersteps on different ranks, so one reserved tag carries them
// all and each letter says what it belongs to. Whatever arrives is filed at once; MPI never holds a
// letter that blocks another.
#pragma once

#include <mpi.h>

#include <compare>
#include <cstddef>
#include <cstdint>
#include <list>
#include <map>
#include <utility>
#include <vector>

#include "base/conversation.hpp"
#include "base/guarded.hpp"

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

  /// Starts to send; the words are kept until they are gone. To the own rank without MPI. Throws a
  /// rank fault for a peer outside the communicator, an unsupported fault for a letter beyond 2^31
  /// words. A synchronous one counts as unsent until its receiver has it.
  void post(ConversationKey key, int superstep, Letter letter, bool synchronous = false);
  /// Starts to send those of a superstep, all to one rank in one message. Returns how many messages that takes.
  std::size_t post_all(ConversationKey key, int superstep, std::vector<Letter> letters);

  /// Progresses sends and files what has arrived. Never blocks. True where something was filed. What this rank has no memory
  /// for, which is thrown, is received by a later one.
  bool collect();

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
    std::vector<std::uint64_t> order;
  };
  struct Message {
    MPI_Request request = MPI_REQUEST_NULL;
    Words words;
    int peer = 0;
    std::uint64_t order = 0;
  };
  using Address = std::pair<ConversationKey, int>;

  /// A letter that MPI has given out, and that this rank had no memory for when it did.
  struct Arrival {
    MPI_Message message = MPI_MESSAGE_NULL;
    int count = 0;
    int peer = 0;
  };

  void file(Address address, Letter letter, std::uint64_t order) VICINAL_REQUIRES(mutex_);
  /// The letters of a message, each with its length before it.
  void file_all(const Message& message) VICINAL_REQUIRES(mutex_);
  void check_letter(const Letter& letter) const;
  void send(Words words, int peer, bool synchronous) VICINAL_REQUIRES(mutex_);
  void receive_arrivals() VICINAL_REQUIRES(mutex_);
  bool find_arrival() VICINAL_REQUIRES(mutex_);
  bool finish_messages() VICINAL_REQUIRES(mutex_);

  MPI_Comm communicator_;
  int tag_;
  int rank_ = 0;
  int size_ = 0;
  mutable Mutex mutex_;
  std::map<Address, Box> boxes_ VICINAL_GUARDED_BY(mutex_);
  std::list<Message> sends_ VICINAL_GUARDED_BY(mutex_);
  std::list<Message> receives_ VICINAL_GUARDED_BY(mutex_);
  Arrival arrival_ VICINAL_GUARDED_BY(mutex_);  ///< the next to be received
  std::uint64_t arrivals_ VICINAL_GUARDED_BY(mutex_) = 0;
};

}  // namespace vicinal::mpi
