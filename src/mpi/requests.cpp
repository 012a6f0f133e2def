// Creates, tests and frees persistent requests.
#include "mpi/requests.hpp"

#include <ostream>
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
    // MPI keeps a persistent request and its memory until it is freed, so the handle must not just
    // be overwritten.
    check(MPI_Request_free(&request), "MPI_Request_free");
  }
  prepared_[index] = message;
  remembered_.clear();
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

bool RequestSet::test_all(std::size_t first, int count) {
  if (count == 0) return true;
  if (all_complete_) early_.clear();
  int done = 0;
  const int code = MPI_Testall(count, &requests_[first], &done, statuses_.data());
  any_failed_ = false;
  if (code != MPI_SUCCESS) {
    // Completed requests are inactive in later tests: keep what is known of them.
    check_statuses(code, static_cast<std::size_t>(count));
    done = 1;
    early_.resize(static_cast<std::size_t>(count), unknown);
    for (std::size_t i = 0; i < early_.size(); ++i) {
      if (statuses_[i].MPI_ERROR == MPI_ERR_PENDING) {
        done = 0;
      } else if (early_[i] == unknown) {
        early_[i] = length(i);
      }
    }
  }
  all_complete_ = done != 0;
  return all_complete_;
}

bool RequestSet::test_early(std::size_t first, int count, std::size_t index) {
  if (all_complete_) early_.clear();
  all_complete_ = false;
  int done = 0;
  MPI_Status status;
  const int code = MPI_Test(&requests_[index], &done, &status);
  int kind = MPI_SUCCESS;
  MPI_Error_class(code, &kind);
  if (kind != MPI_ERR_TRUNCATE) check(code, "MPI_Test");
  const bool was_active = status.MPI_SOURCE != MPI_ANY_SOURCE;
  if (done == 0 || prepared_[index].sends || !was_active) return done != 0;
  early_.resize(static_cast<std::size_t>(count), unknown);
  statuses_[index - first] = status;
  statuses_[index - first].MPI_ERROR = code;
  any_failed_ = true;
  early_[index - first] = length(index - first);
  return true;
}

int RequestSet::test_some(std::size_t first, int count, int* completed) {
  if (count == 0) return 0;
  if (!early_.empty()) early_.clear();
  int done = 0;
  const int code = MPI_Testsome(count, &requests_[first], &done, completed, statuses_.data());
  any_failed_ = false;
  if (code != MPI_SUCCESS) check_statuses(code, static_cast<std::size_t>(done));
  return done == MPI_UNDEFINED ? 0 : done;
}

/// Throws unless the failure is a message that was too long: the caller reports that.
void RequestSet::check_statuses(int code, std::size_t complete) {
  int kind = MPI_SUCCESS;
  MPI_Error_class(code, &kind);
  if (kind != MPI_ERR_IN_STATUS) check(code, "testing messages");
  any_failed_ = true;
  bool named = false;
  for (std::size_t i = 0; i < complete; ++i) {
    const int error = statuses_[i].MPI_ERROR;
    if (error == MPI_SUCCESS || error == MPI_ERR_PENDING) continue;
    MPI_Error_class(error, &kind);
    if (kind != MPI_ERR_TRUNCATE) check(error, "testing messages");
    named = true;
  }
  if (named) return;
  // MPICH 5.0.2 does not say which of the messages that MPI_Testsome found: it may be any of them.
  for (std::size_t i = 0; i < complete; ++i) statuses_[i].MPI_ERROR = MPI_ERR_TRUNCATE;
}

std::int64_t RequestSet::received_in_any_case(std::size_t position) const {
  if (position < early_.size() && early_[position] != unknown) return early_[position];
  return length(position);
}

std::int64_t RequestSet::length(std::size_t position) const {
  const MPI_Status& status = statuses_[position];
  if (any_failed_ && status.MPI_ERROR != MPI_SUCCESS) return -1;
  int bytes = 0;
  check(MPI_Get_count(&status, MPI_BYTE, &bytes), "MPI_Get_count");
  if (bytes != MPI_UNDEFINED) return bytes;
  MPI_Count many = 0;
  check(MPI_Get_elements_x(&status, MPI_BYTE, &many), "MPI_Get_elements_x");
  return many;
}

void RequestSet::throw_failed(std::size_t index, int code, const char* what) const {
  throw_message_error(code, prepared_[index].peer, prepared_[index].bytes, what);
}

void RequestSet::cancel_receive(std::size_t index) {
  MPI_Request& request = requests_[index];
  int done = 0;
  check(MPI_Request_get_status(request, &done, MPI_STATUS_IGNORE), "MPI_Request_get_status");
  if (done != 0) return;  // or not active
  check(MPI_Cancel(&request), "MPI_Cancel");
  poll_until([&] { return test(index); },
             [&](std::ostream& out) {
               out << "MPI to take back a receive from rank " << prepared_[index].peer
                   << " of its communicator";
             });
}

}  // namespace vicinal::mpi
