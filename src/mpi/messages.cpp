// Starting, testing and giving up the messages of one call.
#include "mpi/messages.hpp"

#include "mpi/collectives.hpp"
#include "mpi/datatype.hpp"
#include "mpi/environment.hpp"
#include "mpi/errors.hpp"

namespace vicinal::mpi {

MessageBatch::~MessageBatch() { abandon(); }

void MessageBatch::receive(void* buffer, std::int64_t count, MPI_Datatype type, std::int64_t bytes,
                           int peer, int tag) {
  require(expected_.size() == requests_.size(), Fault::internal,
          "a receive was added to messages after a send");
  const TypeSpan span(count, type);
  MPI_Request request = MPI_REQUEST_NULL;
  check(MPI_Irecv(buffer, span.count(), span.type(), peer, tag, communicator_, &request),
        "MPI_Irecv");
  requests_.push_back(request);
  expected_.push_back({peer, bytes});
}

void MessageBatch::send(const void* buffer, std::int64_t count, MPI_Datatype type, int peer,
                        int tag) {
  const TypeSpan span(count, type);
  MPI_Request request = MPI_REQUEST_NULL;
  check(MPI_Isend(buffer, span.count(), span.type(), peer, tag, communicator_, &request),
        "MPI_Isend");
  requests_.push_back(request);
}

bool MessageBatch::test() {
  if (requests_.empty()) return true;
  statuses_.resize(requests_.size());
  int done = 0;
  check(MPI_Testall(static_cast<int>(requests_.size()), requests_.data(), &done, statuses_.data()),
        "MPI_Testall");
  if (done == 0) return false;
  requests_.clear();
  verify_lengths();
  return true;
}

void MessageBatch::verify_lengths() const {
  for (std::size_t i = 0; i < expected_.size(); ++i) {
    const auto [peer, expected] = expected_[i];
    MPI_Count bytes = 0;
    check(MPI_Get_elements_x(&statuses_[i], MPI_BYTE, &bytes), "MPI_Get_elements_x");
    require(bytes == expected, Fault::count, "rank ", peer, " has sent ", bytes, " bytes where ",
            expected, " were expected; both ends of an edge must give the same count");
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

}  // namespace vicinal::mpi
