// Starts, tests and abandons the messages of one call.
#include "mpi/messages.hpp"

#include <algorithm>
#include <string>

#include "mpi/collectives.hpp"
#include "mpi/datatype.hpp"
#include "mpi/environment.hpp"
#include "mpi/errors.hpp"

namespace vicinal::mpi {

namespace {

constexpr std::size_t longest_discard = std::size_t{1} << 36;

/// Makes room for one more element before MPI starts an operation, so that its request is never
/// lost.
template <class Item>
void make_room(std::vector<Item>& list) {
  if (list.size() == list.capacity()) list.reserve(std::max<std::size_t>(8, 2 * list.size()));
}

}  // namespace

MessageBatch::~MessageBatch() {
  if (!requests_.empty()) abandon();
}

void MessageBatch::receive(void* buffer, std::int64_t count, MPI_Datatype type, Length bytes,
                           int peer, int tag) {
  require(expected_.size() == requests_.size(), Fault::internal,
          "a receive was added to messages after a send");
  const TypeSpan span(count, type);
  make_room_for_message();
  make_room(expected_);
  MPI_Request request = MPI_REQUEST_NULL;
  check(MPI_Irecv(buffer, span.count(), span.type(), peer, tag, communicator_, &request),
        "MPI_Irecv");
  requests_.push_back(request);
  expected_.push_back({peer, bytes});
}

void MessageBatch::send(const void* buffer, std::int64_t count, MPI_Datatype type, int peer,
                        int tag) {
  const TypeSpan span(count, type);
  make_room_for_message();
  make_room(receivers_);
  MPI_Request request = MPI_REQUEST_NULL;
  check(MPI_Isend(buffer, span.count(), span.type(), peer, tag, communicator_, &request),
        "MPI_Isend");
  requests_.push_back(request);
  receivers_.push_back(peer);
}

void MessageBatch::make_room_for_message() {
  make_room(requests_);
  if (statuses_.size() == requests_.size()) statuses_.emplace_back();
}

MessageBatch::Due MessageBatch::due() const {
  Due due;
  const bool may_ask = is_alive();
  for (std::size_t i = 0; i < requests_.size(); ++i) {
    int done = 0;
    // A message that MPI cannot report on counts as due: dump() may run after MPI_Finalize.
    if (may_ask) MPI_Request_get_status(requests_[i], &done, MPI_STATUS_IGNORE);
    if (done != 0) continue;
    if (i < expected_.size()) {
      due.from.insert(expected_[i].peer);
    } else {
      due.to.insert(receivers_[i - expected_.size()]);
    }
  }
  return due;
}

bool MessageBatch::test() {
  if (requests_.empty()) return true;
  int done = 0;
  const int code =
      MPI_Testall(static_cast<int>(requests_.size()), requests_.data(), &done, statuses_.data());
  if (code != MPI_SUCCESS) {
    done = 1;
    note_failures(code);
    for (const MPI_Request request : requests_) done = request == MPI_REQUEST_NULL ? done : 0;
  }
  if (done == 0) return false;
  requests_.clear();
  if (!too_long_.empty()) throw Error(Fault::count, too_long_);
  verify_lengths();
  return true;
}

/// A message that was too long fails alone. The others must still complete, or a later call would
/// receive them.
void MessageBatch::note_failures(int code) {
  int kind = MPI_SUCCESS;
  MPI_Error_class(code, &kind);
  if (kind != MPI_ERR_IN_STATUS) check(code, "MPI_Testall");
  for (std::size_t i = 0; i < requests_.size(); ++i) {
    const int error = statuses_[i].MPI_ERROR;
    if (error == MPI_SUCCESS || error == MPI_ERR_PENDING) continue;
    MPI_Error_class(error, &kind);
    if (kind != MPI_ERR_TRUNCATE || i >= expected_.size()) check(error, "MPI_Testall");
    too_long_ = "rank " + std::to_string(expected_[i].peer) + " has sent more than the " +
                std::to_string(expected_[i].bytes.most) +
                " bytes that were expected; both ends of an edge must give the same count";
  }
}

void MessageBatch::verify_lengths() {
  for (std::size_t i = 0; i < expected_.size(); ++i) {
    const auto [peer, expected] = expected_[i];
    MPI_Count bytes = 0;
    check(MPI_Get_elements_x(&statuses_[i], MPI_BYTE, &bytes), "MPI_Get_elements_x");
    require(bytes > 0 || expected.least == 0, Fault::elsewhere, "the call failed on rank ", peer,
            ", where the message says more, or that rank gave a count of 0: it has sent nothing "
            "where ",
            expected.most, " bytes were expected");
    require(bytes >= expected.least && bytes <= expected.most, Fault::count, "rank ", peer,
            " has sent ", bytes, " bytes where ", expected.most,
            " were expected; both ends of an edge must give the same count");
    has_room_left_ = has_room_left_ || bytes < expected.most;
  }
}

void MessageBatch::abandon() noexcept {
  if (!is_alive()) return;
  try {
    for (std::size_t i = 0; i < requests_.size(); ++i) {
      MPI_Request& request = requests_[i];
      if (request == MPI_REQUEST_NULL) continue;
      if (i >= expected_.size()) {
        MPI_Request_free(&request);  // MPI finishes the send by itself
        continue;
      }
      check(MPI_Cancel(&request), "MPI_Cancel");
      wait(request, "MPI_Cancel");
    }
  } catch (const std::exception&) {
    // There is a fault to report already.
  }
  requests_.clear();
}

DiscardReceive::DiscardReceive(MPI_Comm communicator, int source, int tag)
    : communicator_(communicator), source_(source), tag_(tag), room_(longest_discard) {
  if (!room_.bytes().empty()) receive_ = ireceive(communicator, room_.bytes(), source, tag);
}

DiscardReceive::~DiscardReceive() {
  if (receive_ && !receive_->cancel()) room_.leave();
}

bool DiscardReceive::test() {
  if (!receive_) {
    auto arrival = improbe(communicator_, tag_, source_);
    if (!arrival) return false;
    bytes_.resize(static_cast<std::size_t>(arrival->bytes));
    receive_ = ireceive(*arrival, bytes_);
  }
  return receive_->test();
}

}  // namespace vicinal::mpi
