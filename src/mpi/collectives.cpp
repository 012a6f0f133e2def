// Nonblocking MPI operations, completed by polling.
#include "mpi/collectives.hpp"

#include <algorithm>
#include <array>
#include <numeric>
#include <ostream>

#include "base/error.hpp"
#include "mpi/communicator.hpp"
#include "mpi/datatype.hpp"
#include "mpi/errors.hpp"
#include "mpi/own_progress.hpp"

namespace vicinal::mpi {
namespace {

MPI_Op operator_of(Reduction reduction) {
  switch (reduction) {
    case Reduction::min: return MPI_MIN;
    case Reduction::max: return MPI_MAX;
  }
  fail(Fault::internal, "reduction ", static_cast<int>(reduction), " is not known");
}

template <class Send>
PendingOperation send(Send function, const char* what, MPI_Comm communicator,
                      std::span<const std::byte> bytes, int peer, int tag) {
  const ByteSpan span(static_cast<std::int64_t>(bytes.size()));
  MPI_Request request = MPI_REQUEST_NULL;
  check(function(bytes.data(), span.count(), span.type(), peer, tag, communicator, &request), what);
  return PendingOperation(request);
}

/// One message received and one sent.
struct Step {
  int from;
  std::span<std::byte> arriving;
  int to;
  std::span<const std::byte> leaving;
};

/// Receives and sends. `deed` says what both peers must do, for reports.
void take(const Step& step, MPI_Comm communicator, int tag, const char* deed) {
  PendingOperation in = ireceive(communicator, step.arriving, step.from, tag);
  PendingOperation out = isend(communicator, step.leaving, step.to, tag);
  poll_until([&] { return in.test(); }, RankAwaited{step.from, deed});
  poll_until([&] { return out.test(); }, RankAwaited{step.to, deed});
}

}  // namespace

void RankAwaited::operator()(std::ostream& out) const {
  out << "rank " << rank << " of its communicator to " << deed;
}

void wait(MPI_Request& request, const char* what, Reason reason) {
  poll_until(
      [&] {
        int done = 0;
        check(MPI_Test(&request, &done, MPI_STATUS_IGNORE), what);
        return done != 0;
      },
      reason);
}

void barrier(MPI_Comm communicator) {
  MPI_Request request = MPI_REQUEST_NULL;
  check(MPI_Ibarrier(communicator, &request), "MPI_Ibarrier");
  wait(request, "MPI_Ibarrier", "all ranks of its communicator to come to a barrier");
}

std::vector<std::int64_t> allgather(MPI_Comm communicator, std::span<const std::int64_t> mine) {
  int size = 0;
  check(MPI_Comm_size(communicator, &size), "MPI_Comm_size");
  std::vector<std::int64_t> all(mine.size() * static_cast<std::size_t>(size));
  allgather(communicator, mine, all);
  return all;
}

void allgather(MPI_Comm communicator, std::span<const std::int64_t> mine,
               std::span<std::int64_t> all) {
  int rank = 0;
  int size = 0;
  check(MPI_Comm_rank(communicator, &rank), "MPI_Comm_rank");
  check(MPI_Comm_size(communicator, &size), "MPI_Comm_size");
  const std::size_t block = mine.size();
  // Own block first, then the blocks of the next ranks, wrapping around.
  std::copy(mine.begin(), mine.end(), all.begin());
  for (int have = 1; have < size; have *= 2) {
    const auto words = block * static_cast<std::size_t>(std::min(have, size - have));
    const auto begin = block * static_cast<std::size_t>(have);
    take({(rank + have) % size, std::as_writable_bytes(all.subspan(begin, words)),
          (rank - have + size) % size, std::as_bytes(all.first(words))},
         communicator, tag_allgather, "take part in an allgather");
  }
  std::rotate(all.begin(), all.end() - static_cast<std::ptrdiff_t>(block) * rank, all.end());
}

void allreduce_min(MPI_Comm communicator, std::span<std::int64_t> values) {
  int rank = 0;
  int size = 0;
  check(MPI_Comm_rank(communicator, &rank), "MPI_Comm_rank");
  check(MPI_Comm_size(communicator, &size), "MPI_Comm_size");
  // Allocates nothing: a rank that failed here would leave the others waiting.
  std::array<std::int64_t, most_reduced> room{};
  require(values.size() <= room.size(), Fault::internal, "an allreduce of ", values.size(),
          " values");
  const std::span<std::int64_t> theirs = std::span(room).first(values.size());
  for (int step = 1; step < size; step *= 2) {
    take({(rank - step + size) % size, std::as_writable_bytes(theirs), (rank + step) % size,
          std::as_bytes(values)},
         communicator, tag_allgather, "take part in an allreduce");
    for (std::size_t i = 0; i < values.size(); ++i) values[i] = std::min(values[i], theirs[i]);
  }
}

std::vector<std::vector<std::int64_t>> gather_in_world(std::span<const std::int64_t> mine) {
  int rank = 0, size = 0;
  check(MPI_Comm_rank(MPI_COMM_WORLD, &rank), "MPI_Comm_rank");
  check(MPI_Comm_size(MPI_COMM_WORLD, &size), "MPI_Comm_size");
  const auto ranks = static_cast<std::size_t>(rank == 0 ? size : 0);
  std::vector<int> counts, places;
  std::vector<std::int64_t> all;
  const auto make = [](auto& list, auto length) {
    const Inside inside;
    list.resize(static_cast<std::size_t>(length));
  };
  make(counts, ranks);
  make(places, ranks);
  const int count = static_cast<int>(mine.size());
  check(MPI_Gather(&count, 1, MPI_INT, counts.data(), 1, MPI_INT, 0, MPI_COMM_WORLD), "MPI_Gather");
  std::int64_t total = 0;
  for (std::size_t i = 0; i < ranks; ++i) {
    places[i] = static_cast<int>(total);
    total += counts[i];
  }
  make(all, total);
  check(MPI_Gatherv(mine.data(), count, MPI_INT64_T, all.data(), counts.data(), places.data(),
                    MPI_INT64_T, 0, MPI_COMM_WORLD),
        "MPI_Gatherv");
  std::vector<std::vector<std::int64_t>> by_rank;
  for (std::size_t i = 0; i < ranks; ++i) {
    const auto begin = all.begin() + places[i];
    by_rank.emplace_back(begin, begin + counts[i]);
  }
  return by_rank;
}

void broadcast(MPI_Comm communicator, std::span<std::byte> bytes, int root) {
  const ByteSpan span(static_cast<std::int64_t>(bytes.size()));
  MPI_Request request = MPI_REQUEST_NULL;
  check(MPI_Ibcast(bytes.data(), span.count(), span.type(), root, communicator, &request),
        "MPI_Ibcast");
  wait(request, "MPI_Ibcast", [&](std::ostream& out) {
    out << "the broadcast of rank " << root << " of its communicator";
  });
}

// Moves the sum for the member at distance d by one hop for each binary digit 1 of d, the lowest
// first. Sums for one member that meet are added.
std::int64_t reduce_scatter(MPI_Comm communicator, const Group& group,
                            std::span<const std::int64_t> contributions) {
  const auto size = group.ranks.size();
  const auto place = static_cast<std::size_t>(group.place);
  std::vector<std::int64_t> sums(size);  // by distance
  for (std::size_t d = 0; d < size; ++d) sums[d] = contributions[(place + d) % size];
  for (std::size_t step = 1; step < size; step *= 2) {
    std::vector<std::int64_t> leaving;
    for (std::size_t d = step; d < size; d += 2 * step) leaving.push_back(sums[d]);
    std::vector<std::int64_t> arriving(leaving.size());
    take({group.ranks[(place + size - step) % size], std::as_writable_bytes(std::span(arriving)),
          group.ranks[(place + step) % size], std::as_bytes(std::span(leaving))},
         communicator, tag_counts, "take part in a sum of counts");
    for (std::size_t i = 0; i < arriving.size(); ++i) sums[2 * step * i] += arriving[i];
  }
  return sums.front();
}

std::int64_t reduce_scatter(MPI_Comm communicator, std::span<const std::int64_t> contributions) {
  std::vector<int> all(contributions.size());
  std::iota(all.begin(), all.end(), 0);
  int rank = 0;
  check(MPI_Comm_rank(communicator, &rank), "MPI_Comm_rank");
  return reduce_scatter(communicator, {all, rank}, contributions);
}

PendingOperation::~PendingOperation() {
  if (request_ != MPI_REQUEST_NULL && is_alive()) MPI_Request_free(&request_);
}

bool PendingOperation::test() {
  int done = 0;
  check(MPI_Test(&request_, &done, MPI_STATUS_IGNORE), "MPI_Test");
  return done != 0;
}

bool PendingOperation::cancel() noexcept {
  if (request_ == MPI_REQUEST_NULL) return true;
  int done = 0;
  return is_alive() && MPI_Cancel(&request_) == MPI_SUCCESS &&
         MPI_Test(&request_, &done, MPI_STATUS_IGNORE) == MPI_SUCCESS && done != 0;
}

PendingOperation ibarrier(MPI_Comm communicator) {
  MPI_Request request = MPI_REQUEST_NULL;
  check(MPI_Ibarrier(communicator, &request), "MPI_Ibarrier");
  return PendingOperation(request);
}

PendingOperation iallreduce(MPI_Comm communicator, std::span<std::int64_t> values,
                            Reduction reduction) {
  MPI_Request request = MPI_REQUEST_NULL;
  check(MPI_Iallreduce(MPI_IN_PLACE, values.data(), static_cast<int>(values.size()), MPI_INT64_T,
                       operator_of(reduction), communicator, &request),
        "MPI_Iallreduce");
  return PendingOperation(request);
}

PendingOperation issend(MPI_Comm communicator, std::span<const std::byte> bytes, int peer,
                        int tag) {
  return send(MPI_Issend, "MPI_Issend", communicator, bytes, peer, tag);
}

PendingOperation isend(MPI_Comm communicator, std::span<const std::byte> bytes, int peer, int tag) {
  return send(MPI_Isend, "MPI_Isend", communicator, bytes, peer, tag);
}

PendingOperation ireceive(MPI_Comm communicator, std::span<std::byte> into, int peer, int tag) {
  const ByteSpan span(static_cast<std::int64_t>(into.size()));
  MPI_Request request = MPI_REQUEST_NULL;
  check(MPI_Irecv(into.data(), span.count(), span.type(), peer, tag, communicator, &request),
        "MPI_Irecv");
  return PendingOperation(request);
}

namespace {

/// A datatype of many elements that all lie on one page. A receive may announce more bytes than
/// arrive.
class Dropped {
 public:
  explicit Dropped(std::int64_t bytes)
      : count_(static_cast<int>((bytes + page_bytes - 1) / page_bytes)) {
    MPI_Datatype page = MPI_DATATYPE_NULL;
    check(MPI_Type_contiguous(page_bytes, MPI_BYTE, &page), "MPI_Type_contiguous");
    const int outcome = MPI_Type_create_resized(page, 0, 0, &type_);
    MPI_Type_free(&page);
    check(outcome, "MPI_Type_create_resized");
    check(MPI_Type_commit(&type_), "MPI_Type_commit");
  }
  Dropped(const Dropped&) = delete;
  Dropped& operator=(const Dropped&) = delete;
  ~Dropped() {
    if (type_ != MPI_DATATYPE_NULL) MPI_Type_free(&type_);
  }
  static void* page() {
    static std::array<std::byte, page_bytes> room;
    return room.data();
  }
  [[nodiscard]] int count() const { return count_; }
  [[nodiscard]] MPI_Datatype type() const { return type_; }

 private:
  static constexpr int page_bytes = 1 << 20;

  int count_;
  MPI_Datatype type_ = MPI_DATATYPE_NULL;
};

}  // namespace

PendingOperation idrop(MPI_Comm communicator, std::int64_t bytes, int peer, int tag) {
  const Dropped dropped(bytes);
  MPI_Request request = MPI_REQUEST_NULL;
  check(MPI_Irecv(Dropped::page(), dropped.count(), dropped.type(), peer, tag, communicator,
                  &request),
        "MPI_Irecv");
  return PendingOperation(request);
}

PendingOperation idrop(MatchedMessage& message) {
  const Dropped dropped(message.bytes);
  MPI_Request request = MPI_REQUEST_NULL;
  check(MPI_Imrecv(Dropped::page(), dropped.count(), dropped.type(), &message.handle, &request),
        "MPI_Imrecv");
  return PendingOperation(request);
}

bool test_all(std::span<PendingOperation> requests) {
  bool all = true;
  for (PendingOperation& request : requests) all = request.test() && all;
  return all;
}

std::optional<MatchedMessage> improbe(MPI_Comm communicator, int tag, int source) {
  MatchedMessage message;
  int found = 0;
  MPI_Status status;
  check(MPI_Improbe(source, tag, communicator, &found, &message.handle, &status), "MPI_Improbe");
  if (found == 0) return std::nullopt;
  MPI_Count bytes = 0;
  check(MPI_Get_elements_x(&status, MPI_BYTE, &bytes), "MPI_Get_elements_x");
  message.peer = status.MPI_SOURCE;
  message.bytes = bytes;
  return message;
}

void progress(MPI_Comm communicator) {
  int found = 0;
  check(MPI_Iprobe(MPI_ANY_SOURCE, tag_mailbox, communicator, &found, MPI_STATUS_IGNORE),
        "MPI_Iprobe");
}

PendingOperation ireceive(MatchedMessage& message, std::span<std::byte> into) {
  const ByteSpan span(static_cast<std::int64_t>(into.size()));
  MPI_Request request = MPI_REQUEST_NULL;
  check(MPI_Imrecv(into.data(), span.count(), span.type(), &message.handle, &request),
        "MPI_Imrecv");
  return PendingOperation(request);
}

void receive(MatchedMessage& message, std::span<std::byte> into) {
  PendingOperation request = ireceive(message, into);
  poll_until([&] { return request.test(); },
             RankAwaited{message.peer, "send the rest of a message"});
}

void reduce_local(const void* in, void* inout, int count, MPI_Datatype type, MPI_Op op) {
  check(MPI_Reduce_local(in, inout, count, type, op), "MPI_Reduce_local");
}

}  // namespace vicinal::mpi
