// The few MPI operations that set-up and discovery need. Each runs as its nonblocking form with
// polling, so that a rank that waits here still progresses the plans on which others depend.
#pragma once

#include <mpi.h>

#include <cstddef>
#include <cstdint>
#include <iosfwd>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "mpi/backoff.hpp"
#include "mpi/environment.hpp"

namespace vicinal::mpi {

/// The reason of a wait for one rank: with 3 and "answer", "rank 3 of its communicator to answer".
struct RankAwaited {
  int rank;
  const char* deed;
  void operator()(std::ostream& out) const;
};

/// Polls until a nonblocking operation is complete.
void wait(MPI_Request& request, const char* what, Reason reason = "MPI to complete an operation");

void barrier(MPI_Comm communicator);
/// Returns the values of every rank, in rank order; all ranks give the same number of values. Only
/// for a communicator of the library. Takes ceil(log2 p) messages per rank (Bruck's algorithm).
/// MPI_Iallgather may send to every rank, and over TCP the connections alone then take a third of a
/// second.
std::vector<std::int64_t> allgather(MPI_Comm communicator, std::span<const std::int64_t> mine);
/// As above, into `all`, which has room for all values. Allocates nothing, so a rank cannot fail
/// and leave the others waiting.
void allgather(MPI_Comm communicator, std::span<const std::int64_t> mine,
               std::span<std::int64_t> all);
/// Computes the minimum over all ranks, value by value and in place. Takes ceil(log2 size) messages
/// per rank: a fraction of the time of MPI_Iallreduce over TCP. Allocates nothing; takes at most
/// `most_reduced` values.
inline constexpr std::size_t most_reduced = 64;
void allreduce_min(MPI_Comm communicator, std::span<std::int64_t> values);
/// Gathers the values of every rank of MPI_COMM_WORLD to its rank 0, indexed by rank; empty on
/// other ranks. Uses MPI's own gather, which blocks, for the end of a program.
std::vector<std::vector<std::int64_t>> gather_in_world(std::span<const std::int64_t> mine);
enum class Reduction { min, max };
/// Broadcasts raw bytes from `root` to all ranks.
void broadcast(MPI_Comm communicator, std::span<std::byte> bytes, int root);
/// Ranks of a communicator that do something together, and the position of this rank among them.
struct Group {
  std::span<const int> ranks;
  int place = 0;
};
/// Sums `contributions` (one value for each member) over the group; returns this rank's sum. Only
/// for a communicator of the library. Takes ceil(log2 p) messages per rank and p words in all;
/// MPI's own reduce-scatter may send to every rank.
std::int64_t reduce_scatter(MPI_Comm communicator, const Group& group,
                            std::span<const std::int64_t> contributions);
/// As above, among all ranks.
std::int64_t reduce_scatter(MPI_Comm communicator, std::span<const std::int64_t> contributions);

/// A nonblocking operation in progress. Its buffer must live until it is complete.
class PendingOperation {
 public:
  PendingOperation() = default;
  explicit PendingOperation(MPI_Request request) : request_(request) {}
  PendingOperation(PendingOperation&& other) noexcept
      : request_(std::exchange(other.request_, MPI_REQUEST_NULL)) {}
  PendingOperation& operator=(PendingOperation&& other) noexcept {
    std::swap(request_, other.request_);
    return *this;
  }
  PendingOperation(const PendingOperation&) = delete;
  PendingOperation& operator=(const PendingOperation&) = delete;
  ~PendingOperation();
  /// Returns whether it is complete; a default-constructed one is.
  bool test();
  /// Cancels a receive. Returns whether MPI can no longer write to its buffer.
  bool cancel() noexcept;

 private:
  MPI_Request request_ = MPI_REQUEST_NULL;
};

[[nodiscard]] PendingOperation ibarrier(MPI_Comm communicator);
/// In place: the values must live until the operation is complete.
[[nodiscard]] PendingOperation iallreduce(MPI_Comm communicator, std::span<std::int64_t> values,
                                          Reduction reduction);
/// Completes only when the receiver has matched the message.
[[nodiscard]] PendingOperation issend(MPI_Comm communicator, std::span<const std::byte> bytes,
                                      int peer, int tag);
[[nodiscard]] PendingOperation isend(MPI_Comm communicator, std::span<const std::byte> bytes,
                                     int peer, int tag);
/// Receives from a known rank, with a known size.
[[nodiscard]] PendingOperation ireceive(MPI_Comm communicator, std::span<std::byte> into, int peer,
                                        int tag);
/// Tests all; completed operations stay complete.
bool test_all(std::span<PendingOperation> requests);

/// A message that was matched and must be received.
struct MatchedMessage {
  int peer = 0;
  std::int64_t bytes = 0;
  MPI_Message handle = MPI_MESSAGE_NULL;
};
/// Returns the next message with this tag from `source`, or from any rank, if one has arrived.
[[nodiscard]] std::optional<MatchedMessage> improbe(MPI_Comm communicator, int tag,
                                                    int source = MPI_ANY_SOURCE);
/// Lets MPI progress pending operations while no other call does so.
void progress(MPI_Comm communicator);
/// Receives the message, polling.
void receive(MatchedMessage& arrival, std::span<std::byte> into);
[[nodiscard]] PendingOperation ireceive(MatchedMessage& arrival, std::span<std::byte> into);
/// Starts to receive and discard a message for which there is no memory: its bytes overwrite one
/// small page again and again. The standard forbids overlapping receives, but no MPI rejects them.
/// A receive that is too short would be a defined error, but Open MPI then crashes over TCP. MPICH
/// may still need the memory if the message arrives over a network.
[[nodiscard]] PendingOperation idrop(MPI_Comm communicator, std::int64_t bytes, int peer, int tag);
[[nodiscard]] PendingOperation idrop(MatchedMessage& arrival);

/// Computes inout = in op inout, for the user's own operators.
void reduce_local(const void* in, void* inout, int count, MPI_Datatype type, MPI_Op op);

}  // namespace vicinal::mpi
