// Making and freeing persistent requests.
#include "mpi/requests.hpp"

#include "mpi/datatype.hpp"
#include "mpi/environment.hpp"

namespace vicinal::mpi {

RequestSet::~RequestSet() {
  if (requests_.empty() || !is_alive()) return;
  for (MPI_Request& request : requests_) {
    if (request != MPI_REQUEST_NULL) MPI_Request_free(&request);
  }
}

void RequestSet::send_init(std::size_t index, const void* buffer, std::int64_t bytes, int peer,
                           int tag) {
  const ByteSpan span(bytes);
  check(
      MPI_Send_init(buffer, span.count(), span.type(), peer, tag, communicator_, &requests_[index]),
      "MPI_Send_init");
}

void RequestSet::receive_init(std::size_t index, void* buffer, std::int64_t bytes, int peer,
                              int tag) {
  const ByteSpan span(bytes);
  check(
      MPI_Recv_init(buffer, span.count(), span.type(), peer, tag, communicator_, &requests_[index]),
      "MPI_Recv_init");
}

}  // namespace vicinal::mpi
