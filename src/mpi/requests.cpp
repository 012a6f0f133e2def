// Making and freeing persistent requests.
#include "mpi/requests.hpp"

#include <span>

#include "mpi/backoff.hpp"
#include "mpi/datatype.hpp"
#include "mpi/environment.hpp"

namespace vicinal::mpi {

RequestSet::~RequestSet() {
  if (requests_.empty() || !is_alive()) return;
  for (MPI_Request& request : requests_) {
    if (request != MPI_REQUEST_NULL) MPI_Request_free(&request);
  }
}

bool RequestSet::renew(std::size_t index, const Prepared& message) {
  MPI_Request& request = requests_[index];
  if (request != MPI_REQUEST_NULL) {
    if (prepared_[index] == message) return false;
    // MPI keeps a persistent request, and its memory, until it is freed: the handle alone must not be
    // overwritten.
    check(MPI_Request_free(&request), "MPI_Request_free");
  }
  prepared_[index] = message;
  return true;
}

void RequestSet::send_init(std::size_t index, const void* buffer, std::int64_t bytes, int peer,
                           int tag) {
  if (!renew(index, {buffer, bytes, peer, tag, true})) return;
  const ByteSpan span(bytes);
  check(
      MPI_Send_init(buffer, span.count(), span.type(), peer, tag, communicator_, &requests_[index]),
      "MPI_Send_init");
}

void RequestSet::receive_init(std::size_t index, void* buffer, std::int64_t bytes, int peer,
                              int tag) {
  if (!renew(index, {buffer, bytes, peer, tag, false})) return;
  const ByteSpan span(bytes);
  check(
      MPI_Recv_init(buffer, span.count(), span.type(), peer, tag, communicator_, &requests_[index]),
      "MPI_Recv_init");
}

void RequestSet::throw_failed(std::size_t index, int code, const char* what) const {
  throw_message_error(code, prepared_[index].peer, prepared_[index].bytes, what);
}

void RequestSet::throw_first_failed(std::size_t first, int count, const int* completed, int code,
                                    const char* what) const {
  if (count > 0) {
    const auto failed =
        first_failed(code, std::span(statuses_).first(static_cast<std::size_t>(count)));
    if (failed) {
      const std::size_t position = completed == nullptr
                                       ? failed->position
                                       : static_cast<std::size_t>(completed[failed->position]);
      throw_failed(first + position, failed->code, what);
    }
  }
  throw_mpi_error(code, what);
}

void RequestSet::cancel_receive(std::size_t index) {
  MPI_Request& request = requests_[index];
  int done = 0;
  check(MPI_Request_get_status(request, &done, MPI_STATUS_IGNORE), "MPI_Request_get_status");
  if (done != 0) return;  // or not active
  check(MPI_Cancel(&request), "MPI_Cancel");
  poll_until([&] { return test(index); });
}

}  // namespace vicinal::mpi
