// The C interface: exchanges in partitions.
#include "api/neighbor.hpp"

using namespace vicinal::c_api;
using vicinal::Fault;
using vicinal::Request;
using vicinal::require;

namespace {

Request& given(vicinal_request request) {
  require(request != nullptr, Fault::request, "a null request was given");
  return *object(request);
}

}  // namespace

extern "C" {

int vicinal_neighbor_alltoallv_partitioned_init(const void* sendbuf, const int sendcounts[],
                                                const int sdispls[], const int sendpartitions[],
                                                MPI_Datatype sendtype, void* recvbuf,
                                                const int recvcounts[], const int rdispls[],
                                                const int recvpartitions[], MPI_Datatype recvtype,
                                                vicinal_graph graph, MPI_Info info,
                                                vicinal_request* request) {
  return persistent(graph, info, request,
                    in_partitions(alltoallv(sendbuf, sendcounts, sdispls, sendtype, recvbuf,
                                            recvcounts, rdispls, recvtype),
                                  sendpartitions, recvpartitions));
}

int vicinal_neighbor_alltoallv_partitioned_init_c(
    const void* sendbuf, const MPI_Count sendcounts[], const MPI_Aint sdispls[],
    const int sendpartitions[], MPI_Datatype sendtype, void* recvbuf, const MPI_Count recvcounts[],
    const MPI_Aint rdispls[], const int recvpartitions[], MPI_Datatype recvtype,
    vicinal_graph graph, MPI_Info info, vicinal_request* request) {
  return persistent(graph, info, request,
                    in_partitions(alltoallv(sendbuf, sendcounts, sdispls, sendtype, recvbuf,
                                            recvcounts, rdispls, recvtype),
                                  sendpartitions, recvpartitions));
}

int vicinal_pready(vicinal_request request, int neighbor, int partition) {
  return guarded(error_communicator_of(request),
                 [&] { given(request).mark_ready(neighbor, partition, partition); });
}

int vicinal_pready_range(vicinal_request request, int neighbor, int first, int last) {
  return guarded(error_communicator_of(request),
                 [&] { given(request).mark_ready(neighbor, first, last); });
}

int vicinal_pready_list(vicinal_request request, int neighbor, int length, const int partitions[]) {
  return guarded(error_communicator_of(request), [&] {
    check_list(partitions, length, "partitions");
    for (int i = 0; i < length; ++i) {
      given(request).mark_ready(neighbor, partitions[i], partitions[i]);
    }
  });
}

int vicinal_parrived(vicinal_request request, int neighbor, int partition, int* flag) {
  return guarded(error_communicator_of(request), [&] {
    require_handle(flag, "flag");
    *flag = given(request).has_arrived(neighbor, partition) ? 1 : 0;
  });
}

}  // extern "C"
