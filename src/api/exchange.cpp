// The C interface of sparse exchanges.
#include <vicinal/vicinal.h>

#include <memory>
#include <utility>
#include <vector>

#include "api/arguments.hpp"
#include "api/shared.hpp"
#include "collectives/sparse_exchange.hpp"

namespace {

using namespace vicinal::c_api;
using vicinal::MessageData;
using vicinal::Received;

/// Runs `run` with the destinations, the settings and the error in the arguments, if any. `read`
/// reads the other arguments.
template <class Read, class Run>
int exchange(const int* destinations, int sendcount, MPI_Comm comm, MPI_Info info,
             vicinal_received* received, Read read, Run run) noexcept {
  return guarded(comm, [&] {
    vicinal::Settings settings;
    std::vector<int> ranks;
    auto fault = fault_of([&] {
      settings = vicinal::read_settings(info, comm);
      require_handle(received, "handle of what is received");
      ranks = list(destinations, sendcount, "destinations");
      read(ranks.size());
    });
    *received =
        handle(std::make_unique<vicinal_received_s>(run(ranks, settings, std::move(fault))));
  });
}

template <class Function, class Count, class Displacement>
int exchange_messages(Function function, const void* sendbuf, int sendcount,
                      const int* destinations, const Count* sendcounts, const Displacement* sdispls,
                      MPI_Datatype sendtype, MPI_Datatype recvtype, MPI_Comm comm, MPI_Info info,
                      vicinal_received* received) noexcept {
  MessageData data;
  const auto read = [&](std::size_t messages) {
    data = messages_of(sendbuf, sendcounts, sdispls, sendtype, messages);
  };
  return exchange(destinations, sendcount, comm, info, received, read,
                  [&](const auto& ranks, const auto& settings, auto fault) {
                    return function(comm, ranks, data, recvtype, settings, std::move(fault));
                  });
}

}  // namespace

extern "C" {

int vicinal_sparse_alltoallv(const void* sendbuf, int sendcount, const int destinations[],
                             const int sendcounts[], const int sdispls[], MPI_Datatype sendtype,
                             MPI_Datatype recvtype, MPI_Comm comm, MPI_Info info,
                             vicinal_received* received) {
  return exchange_messages(Received::exchange, sendbuf, sendcount, destinations, sendcounts,
                           sdispls, sendtype, recvtype, comm, info, received);
}

int vicinal_sparse_alltoallv_c(const void* sendbuf, int sendcount, const int destinations[],
                               const MPI_Count sendcounts[], const MPI_Aint sdispls[],
                               MPI_Datatype sendtype, MPI_Datatype recvtype, MPI_Comm comm,
                               MPI_Info info, vicinal_received* received) {
  return exchange_messages(Received::exchange, sendbuf, sendcount, destinations, sendcounts,
                           sdispls, sendtype, recvtype, comm, info, received);
}

int vicinal_sparse_alltoall(const void* sendbuf, int sendcount, const int destinations[],
                            int blockcount, MPI_Datatype sendtype, MPI_Datatype recvtype,
                            MPI_Comm comm, MPI_Info info, vicinal_received* received) {
  return exchange(
      destinations, sendcount, comm, info, received, [](std::size_t) {},
      [&](const auto& ranks, const auto& settings, auto fault) {
        return Received::exchange_blocks(comm, ranks, sendbuf, blockcount, sendtype, recvtype,
                                         settings, std::move(fault));
      });
}

int vicinal_sparse_query(const void* sendbuf, int sendcount, const int destinations[],
                         const int sendcounts[], const int sdispls[], MPI_Datatype sendtype,
                         MPI_Datatype recvtype, MPI_Comm comm, MPI_Info info,
                         vicinal_received* requests) {
  return exchange_messages(Received::ask, sendbuf, sendcount, destinations, sendcounts, sdispls,
                           sendtype, recvtype, comm, info, requests);
}

int vicinal_sparse_answer(vicinal_received requests, const void* sendbuf, const int sendcounts[],
                          const int sdispls[], MPI_Datatype sendtype, MPI_Datatype recvtype,
                          vicinal_received* replies) {
  return guarded(error_communicator_of(requests), [&] {
    Received& asked = given(requests).received;
    MessageData data;
    auto fault = fault_of([&] {
      require_handle(replies, "handle of replies");
      data = messages_of(sendbuf, sendcounts, sdispls, sendtype, asked.size());
    });
    *replies = handle(
        std::make_unique<vicinal_received_s>(asked.answer(data, recvtype, std::move(fault))));
  });
}

int vicinal_received_get(vicinal_received received, int* messages, const int** ranks,
                         const int64_t** counts, const int64_t** displs, const void** data) {
  return guarded(error_communicator_of(received), [&] {
    const Received& found = given(received).received;
    if (messages != nullptr) *messages = static_cast<int>(found.size());
    if (ranks != nullptr) *ranks = found.ranks().data();
    if (counts != nullptr) *counts = found.counts().data();
    if (displs != nullptr) *displs = found.displacements().data();
    if (data != nullptr) *data = found.data();
  });
}

int vicinal_received_copy(vicinal_received received, void* recvbuf, int64_t capacity,
                          MPI_Datatype recvtype) {
  return guarded(error_communicator_of(received),
                 [&] { given(received).received.copy(recvbuf, capacity, recvtype); });
}

int vicinal_received_free(vicinal_received* received) {
  return guarded(MPI_COMM_NULL, [&] {
    require_handle(received, "pointer to a handle");
    delete object(*received);
    *received = VICINAL_RECEIVED_NULL;
  });
}

}  // extern "C"
