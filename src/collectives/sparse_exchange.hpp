// Sparse exchanges as users call them. Messages lie in one buffer, in elements of a datatype.
// Received messages are kept until the user has read them.
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
#include "memory/bounce_buffer.hpp"
#include "memory/kind.hpp"
#include "mpi/datatype.hpp"

namespace vicinal {

/// Messages in a user's buffer, each with a count and a displacement in elements.
struct MessageData {
  const void* buffer = nullptr;
  std::vector<Index> counts;
  std::vector<Index> displacements;
  MPI_Datatype type = MPI_DATATYPE_NULL;
};

/// Replaces messages in GPU memory by copies in host memory, which last as long as the result; null
/// if there are none. Waits for the GPU and throws its errors. Throws an unsupported fault if
/// messages lie on two GPUs.
std::unique_ptr<BounceBuffer> fetch(std::vector<std::span<const std::byte>>& messages,
                                    mpi::Communicator& communicator);

/// The messages as raw bytes, packed if the datatype is not dense, and fetched if they lie in GPU
/// memory. The buffer must stay in place.
class PackedMessages {
 public:
  /// Throws a count fault if a count is negative or too large, a buffer fault, or a type fault.
  PackedMessages(const MessageData& data, mpi::Communicator& communicator);
  [[nodiscard]] const std::vector<std::span<const std::byte>>& messages() const {
    return messages_;
  }

 private:
  MemoryBlock packed_;
  std::unique_ptr<BounceBuffer> fetched_;
  std::vector<std::span<const std::byte>> messages_;
};

/// Messages or requests that a rank has received.
class Received {
 public:
  /// Exchanges the messages; `destinations` has the receiver of each. Collective over `user`.
  /// `fault`: an error on this rank that the caller has already detected. Throws as
  /// vicinal::exchange(), and on this rank if a message is no whole number of elements of
  /// `received_type`.
  static Received exchange(MPI_Comm user, const std::vector<int>& destinations,
                           const MessageData& data, MPI_Datatype received_type,
                           const Settings& settings, std::optional<Error> fault);
  /// As exchange(), where all messages of all ranks have `count` elements, one after the other.
  static Received exchange_blocks(MPI_Comm user, const std::vector<int>& destinations,
                                  const void* buffer, Index count, MPI_Datatype type,
                                  MPI_Datatype received_type, const Settings& settings,
                                  std::optional<Error> fault);
  /// As exchange(), for requests, to which answer() replies.
  static Received ask(MPI_Comm user, const std::vector<int>& destinations, const MessageData& data,
                      MPI_Datatype received_type, const Settings& settings,
                      std::optional<Error> fault);
  /// Sends a reply to each request, in their order; see Query::answer. Callable once, even if it
  /// fails. Throws an argument fault at a second call, and if the messages are no requests.
  Received answer(const MessageData& data, MPI_Datatype received_type, std::optional<Error> fault);

  [[nodiscard]] std::size_t size() const { return inbox().size(); }
  [[nodiscard]] const std::vector<int>& ranks() const { return inbox().ranks; }
  /// Counts, and displacements in data(), in elements of the received type.
  [[nodiscard]] const std::vector<Index>& counts() const { return counts_; }
  [[nodiscard]] const std::vector<Index>& displacements() const { return displacements_; }
  /// The values, one message after the other without gaps, as they were sent.
  [[nodiscard]] const std::byte* data() const { return inbox().data.data(); }
  [[nodiscard]] Index elements() const { return displacements_.back(); }
  [[nodiscard]] std::int64_t bytes() const { return inbox().offsets.back(); }
  /// Copies all elements to a buffer with room for `capacity` elements. Throws a count fault if
  /// that is too small, a buffer fault if there is no buffer.
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
