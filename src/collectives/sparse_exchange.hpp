// Sparse exchanges as users call them: messages lie in one buffer in elements of a datatype, and
// what was received is kept until the user has looked at it.
#pragma once

#include <mpi.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "base/runs.hpp"
#include "collectives/settings.hpp"
#include "discovery/query.hpp"
#include "memory/kind.hpp"
#include "memory/stand_in.hpp"
#include "mpi/datatype.hpp"

namespace vicinal {

/// Messages in a user's buffer: for each a count and a displacement, in elements.
struct MessageData {
  const void* buffer = nullptr;
  std::vector<Index> counts;
  std::vector<Index> displacements;
  MPI_Datatype type = MPI_DATATYPE_NULL;
};

/// Has messages that lie in the memory of a GPU lie in the host's instead, as long as what this returns lives; null where none does.
/// Waits for the GPU, and throws what it fails with; an unsupported fault where they lie on two.
std::unique_ptr<StandIn> fetch(std::vector<std::span<const std::byte>>& messages,
                               mpi::Communicator& communicator);

/// The messages as raw bytes, packed where the datatype is not dense, and fetched where they lie in a GPU's memory. The buffer must
/// stay in place.
class PackedMessages {
 public:
  /// Throws a count fault for a negative count and for more bytes than 2^63, a buffer fault, a type
  /// fault.
  PackedMessages(const MessageData& data, mpi::Communicator& communicator);
  [[nodiscard]] const std::vector<std::span<const std::byte>>& messages() const {
    return messages_;
  }

 private:
  MemoryBlock packed_;
  std::unique_ptr<StandIn> fetched_;
  std::vector<std::span<const std::byte>> messages_;
};

/// What a rank has received, or been asked.
class Received {
 public:
  /// Exchanges the messages; `destinations` has as many entries as there are. Collective over
  /// `user`; `fault` is what the caller knows to be wrong on this rank. Throws where exchange()
  /// does, and on this rank where a message is no whole number of elements of `received_type`.
  static Received exchange(MPI_Comm user, const std::vector<int>& destinations,
                           const MessageData& data, MPI_Datatype received_type,
                           const Settings& settings, std::optional<Error> fault);
  /// The same where all messages of all ranks have `count` elements, one after the other.
  static Received exchange_blocks(MPI_Comm user, const std::vector<int>& destinations,
                                  const void* buffer, Index count, MPI_Datatype type,
                                  MPI_Datatype received_type, const Settings& settings,
                                  std::optional<Error> fault);
  /// The same for requests, which answer() replies to.
  static Received ask(MPI_Comm user, const std::vector<int>& destinations, const MessageData& data,
                      MPI_Datatype received_type, const Settings& settings,
                      std::optional<Error> fault);
  /// Sends a reply to each request, in their order; see Query::answer. Once only, also where it fails; throws
  /// an argument fault for a second time, and for what are no requests.
  Received answer(const MessageData& data, MPI_Datatype received_type, std::optional<Error> fault);

  [[nodiscard]] std::size_t size() const { return inbox().size(); }
  [[nodiscard]] const std::vector<int>& ranks() const { return inbox().ranks; }
  /// In elements of the received type, in data().
  [[nodiscard]] const std::vector<Index>& counts() const { return counts_; }
  [[nodiscard]] const std::vector<Index>& displacements() const { return displacements_; }
  /// The values, one message after the other without gaps: as they are sent.
  [[nodiscard]] const std::byte* data() const { return inbox().data.data(); }
  [[nodiscard]] Index elements() const { return displacements_.back(); }
  [[nodiscard]] std::int64_t bytes() const { return inbox().offsets.back(); }
  /// Copies all elements to a buffer that has room for `capacity`. Throws a count fault where that
  /// is too small, a buffer fault where there is none.
  void copy(void* buffer, Index capacity, MPI_Datatype type) const;

  [[nodiscard]] MPI_Comm error_communicator() const { return communicator_->error_communicator(); }

 private:
  explicit Received(std::shared_ptr<mpi::Communicator> communicator)
      : communicator_(std::move(communicator)) {}
  [[nodiscard]] const Inbox& inbox() const { return query_ ? query_->requests() : inbox_; }
  void count_elements();

  std::shared_ptr<mpi::Communicator> communicator_;
  std::int64_t element_bytes_ = 0;
  Inbox inbox_;
  std::unique_ptr<Query> query_;
  bool answered_ = false;
  std::vector<Index> counts_;
  std::vector<Index> displacements_{0};
};

}  // namespace vicinal
