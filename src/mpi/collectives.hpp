// The few operations of MPI that set-up and discovery need. Each runs as its nonblocking form with
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
/// What every rank gave, one after the other; all give the same number of values. On a communicator of
/// our own only. In ceil(log2 p) messages per rank (Bruck's algorithm): MPI_Iallgather may send to every
/// rank, and over TCP the connections alone then take a third of a second.
std::vector<std::int64_t> allgather(MPI_Comm communicator, std::span<const std::int64_t> mine);
/// The same into `all`, which has room for as much. Allocates nothing: no rank can leave the others waiting.
void allgather(MPI_Comm communicator, std::span<const std::int64_t> mine,
               std::span<std::int64_t> all);
/// The least that any rank has, value by value and in place, by ceil(log2 size) messages from each
/// rank: a fraction of what a nonblocking MPI_Iallreduce takes over TCP. Allocates nothing; of so many values at most.
inline constexpr std::size_t most_reduced = 64;
void allreduce_min(MPI_Comm communicator, std::span<std::int64_t> values);
/// What every rank of MPI_COMM_WORLD gives, to its rank 0, by its rank; nothing elsewhere. By MPI's own gather, for the end
/// of a program.
std::vector<std::vector<std::int64_t>> gather_in_world(std::span<const std::int64_t> mine);
enum class Reduction { min, max };
/// Raw bytes from `root` to all.
void broadcast(MPI_Comm communicator, std::span<std::byte> bytes, int root);
/// Some ranks of a communicator that do something together, and which of them this one is.
struct Group {
  std::span<const int> ranks;
  int place = 0;
};
/// Sums `contributions` (one value for each member) over the group; returns this rank's sum. On a
/// communicator of our own only. In ceil(log2 p) messages per rank and p words in all: MPI's own
/// may send to every rank.
std::int64_t reduce_scatter(MPI_Comm communicator, const Group& group,
                            std::span<const std::int64_t> contributions);
/// The same among all ranks.
std::int64_t reduce_scatter(MPI_Comm communicator, std::span<const std::int64_t> contributions);

/// A nonblocking operation under way. The buffer it was given must live until it is complete.
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
  /// Whether it is complete; a default one is.
  bool test();
  /// Gives up a receive; whether nothing of it is left that MPI may write to.
  bool cancel() noexcept;

 private:
  MPI_Request request_ = MPI_REQUEST_NULL;
};

[[nodiscard]] PendingOperation ibarrier(MPI_Comm communicator);
/// In place: the values must live until it is complete.
[[nodiscard]] PendingOperation iallreduce(MPI_Comm communicator, std::span<std::int64_t> values,
                                          Reduction reduction);
/// Completes only when the receiver has matched it.
[[nodiscard]] PendingOperation issend(MPI_Comm communicator, std::span<const std::byte> bytes,
                                      int peer, int tag);
[[nodiscard]] PendingOperation isend(MPI_Comm communicator, std::span<const std::byte> bytes,
                                     int peer, int tag);
/// From a rank and of a size that are known.
[[nodiscard]] PendingOperation ireceive(MPI_Comm communicator, std::span<std::byte> into, int peer,
                                        int tag);
/// Tests several; the completed ones stay complete.
bool test_all(std::span<PendingOperation> requests);

/// A message that was matched and must be received.
struct MatchedMessage {
  int peer = 0;
  std::int64_t bytes = 0;
  MPI_Message handle = MPI_MESSAGE_NULL;
};
/// The next message with this tag from `source`, or from any, where there is one.
[[nodiscard]] std::optional<MatchedMessage> improbe(MPI_Comm communicator, int tag,
                                                    int source = MPI_ANY_SOURCE);
/// Lets MPI work on what is under way, where nothing else calls it for a while.
void progress(MPI_Comm communicator);
/// Receives it, polling.
void receive(MatchedMessage& arrival, std::span<std::byte> into);
[[nodiscard]] PendingOperation ireceive(MatchedMessage& arrival, std::span<std::byte> into);
/// Start to take in a message for which there is no memory, and throw it away: what comes lies over itself in one small
/// place. That is more than the standard allows of a receive, and no MPI objects; one that is too short would be an error that
/// it knows, but Open MPI crashes in it over TCP. MPICH may need the memory after all where a message comes over a network.
[[nodiscard]] PendingOperation idrop(MPI_Comm communicator, std::int64_t bytes, int peer, int tag);
[[nodiscard]] PendingOperation idrop(MatchedMessage& arrival);

/// inout = in op inout, for the user's own operators.
void reduce_local(const void* in, void* inout, int count, MPI_Datatype type, MPI_Op op);

}  // namespace vicinal::mpi
