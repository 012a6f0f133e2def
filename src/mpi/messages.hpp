// Messages of one call, straight from and into the user's memory, described by the user's
// datatypes.
#pragma once

#include <mpi.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "memory/address_space.hpp"
#include "mpi/collectives.hpp"

namespace vicinal::mpi {

/// Messages under way on a private communicator. MPI's matching order tells those between two ranks
/// with the same tag apart.
class MessageBatch {
 public:
  explicit MessageBatch(MPI_Comm communicator) : communicator_(communicator) {}
  MessageBatch(const MessageBatch&) = delete;
  MessageBatch& operator=(const MessageBatch&) = delete;
  /// Lets go of what is not complete: see abandon().
  ~MessageBatch();

  /// How many bytes a message may have: at most as many as the receive has room for. Its sender has failed where it has
  /// none and that is too few.
  struct Length {
    std::int64_t least;
    std::int64_t most;
  };
  void receive(void* buffer, std::int64_t count, MPI_Datatype type, Length bytes, int peer,
               int tag);
  void send(const void* buffer, std::int64_t count, MPI_Datatype type, int peer, int tag);

  /// Whether all are complete. Never blocks. Throws once they are: a count fault where a message was
  /// shorter or longer than the receive it met, one of kind `elsewhere` where it was empty.
  bool test();
  /// Whether a message was shorter than the most that it may have. Once all are complete.
  [[nodiscard]] bool has_room_left() const { return has_room_left_; }

  /// The ranks whose messages are due, and those to whom some are under way.
  struct Due {
    std::set<int> from;
    std::set<int> to;
  };
  [[nodiscard]] Due due() const;

  /// Nothing is written to the user's memory from now on.
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
  std::string too_long_;  ///< what to say of a message that was; empty where none was
};

/// A message whose length this rank cannot know, taken in and thrown away. Nobody else may receive with its
/// tag from its sender meanwhile. MPI has a receive for it from the start, into as much address space as it
/// may need: the sender waits for nothing that this rank does later.
class Stray {
 public:
  Stray(MPI_Comm communicator, int source, int tag);
  Stray(Stray&&) = default;
  Stray& operator=(Stray&&) = default;
  ~Stray();
  [[nodiscard]] int source() const { return source_; }
  /// Whether later receives cannot take it.
  [[nodiscard]] bool posted() const { return receive_.has_value(); }
  /// Whether it has come. Never blocks.
  bool test();

 private:
  MPI_Comm communicator_;
  int source_;
  int tag_;
  AddressSpace room_;             ///< empty where the system gives none
  std::vector<std::byte> bytes_;  ///< in its place, once it is known how long it is
  std::optional<PendingOperation> receive_;
};

}  // namespace vicinal::mpi
