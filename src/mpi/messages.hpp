// Messages of one call, sent directly from and into the user's memory, described by the user's
// datatypes.
#pragma once

#include <mpi.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "memory/pages.hpp"
#include "mpi/collectives.hpp"

namespace vicinal::mpi {

/// Messages in progress on a private communicator. MPI's matching order distinguishes messages
/// between two ranks with the same tag.
class MessageBatch {
 public:
  explicit MessageBatch(MPI_Comm communicator) : communicator_(communicator) {}
  MessageBatch(const MessageBatch&) = delete;
  MessageBatch& operator=(const MessageBatch&) = delete;
  /// Abandons incomplete messages: see abandon().
  ~MessageBatch();

  /// Limits of a message's length in bytes; `most` is what the receive has room for. An empty
  /// message where `least` is above 0 means that its sender has failed.
  struct Length {
    std::int64_t least;
    std::int64_t most;
  };
  void receive(void* buffer, std::int64_t count, MPI_Datatype type, Length bytes, int peer,
               int tag);
  void send(const void* buffer, std::int64_t count, MPI_Datatype type, int peer, int tag);

  /// Returns whether all are complete. Never blocks. When all are complete, throws if a message
  /// does not match its receive. Throws an `elsewhere` fault for an empty message, a count fault
  /// for one too short or too long.
  bool test();
  /// Returns whether a message was shorter than its most. Valid once all are complete.
  [[nodiscard]] bool has_room_left() const { return has_room_left_; }

  /// The ranks whose messages are due, and those with messages still being sent to them.
  struct Due {
    std::set<int> from;
    std::set<int> to;
  };
  [[nodiscard]] Due due() const;

  /// Ensures that nothing is written to the user's memory from now on.
  void abandon() noexcept;

 private:
  struct Expected {
    int peer;
    Length bytes;
  };
  void make_room_for_message();
  void verify_lengths();
  void note_failures(int code);

  MPI_Comm communicator_;
  std::vector<MPI_Request> requests_;  ///< receives first
  std::vector<MPI_Status> statuses_;   ///< at least one for each
  std::vector<Expected> expected_;     ///< by receive
  std::vector<int> receivers_;         ///< by send
  bool has_room_left_ = false;
  std::string too_long_;  ///< error text for a message that was too long; else empty
};

/// Receives and discards a message whose length this rank cannot know. No other receive may use its
/// tag and sender meanwhile. It posts a receive at once, into as much address space as the message
/// may need. So the sender does not depend on a later action of this rank.
class DiscardReceive {
 public:
  DiscardReceive(MPI_Comm communicator, int source, int tag);
  DiscardReceive(DiscardReceive&&) = default;
  DiscardReceive& operator=(DiscardReceive&&) = default;
  ~DiscardReceive();
  [[nodiscard]] int source() const { return source_; }
  /// Returns whether the receive is posted, so that later receives cannot match the message.
  [[nodiscard]] bool posted() const { return receive_.has_value(); }
  /// Returns whether the message has arrived. Never blocks.
  bool test();

 private:
  MPI_Comm communicator_;
  int source_;
  int tag_;
  AddressSpace room_;             ///< empty if the system provides none
  std::vector<std::byte> bytes_;  ///< used instead, once the length is known
  std::optional<PendingOperation> receive_;
};

}  // namespace vicinal::mpi
