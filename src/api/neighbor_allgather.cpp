// The C interface: neighborhood allgather and allgatherv.
#include "api/neighbor.hpp"

using namespace vicinal::c_api;

extern "C" {

int vicinal_neighbor_allgather(const void* sendbuf, int sendcount, MPI_Datatype sendtype,
                               void* recvbuf, int recvcount, MPI_Datatype recvtype,
                               vicinal_graph graph) {
  return blocking(graph, allgather(Among::neighbors, sendbuf, sendcount, sendtype, recvbuf,
                                   recvcount, recvtype));
}

int vicinal_ineighbor_allgather(const void* sendbuf, int sendcount, MPI_Datatype sendtype,
                                void* recvbuf, int recvcount, MPI_Datatype recvtype,
                                vicinal_graph graph, vicinal_request* request) {
  return nonblocking(
      graph, request,
      allgather(Among::neighbors, sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype));
}

int vicinal_neighbor_allgather_init(const void* sendbuf, int sendcount, MPI_Datatype sendtype,
                                    void* recvbuf, int recvcount, MPI_Datatype recvtype,
                                    vicinal_graph graph, MPI_Info info, vicinal_request* request) {
  return persistent(
      graph, info, request,
      allgather(Among::neighbors, sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype));
}

int vicinal_neighbor_allgather_c(const void* sendbuf, MPI_Count sendcount, MPI_Datatype sendtype,
                                 void* recvbuf, MPI_Count recvcount, MPI_Datatype recvtype,
                                 vicinal_graph graph) {
  return blocking(graph, allgather(Among::neighbors, sendbuf, sendcount, sendtype, recvbuf,
                                   recvcount, recvtype));
}

int vicinal_ineighbor_allgather_c(const void* sendbuf, MPI_Count sendcount, MPI_Datatype sendtype,
                                  void* recvbuf, MPI_Count recvcount, MPI_Datatype recvtype,
                                  vicinal_graph graph, vicinal_request* request) {
  return nonblocking(
      graph, request,
      allgather(Among::neighbors, sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype));
}

int vicinal_neighbor_allgather_init_c(const void* sendbuf, MPI_Count sendcount,
                                      MPI_Datatype sendtype, void* recvbuf, MPI_Count recvcount,
                                      MPI_Datatype recvtype, vicinal_graph graph, MPI_Info info,
                                      vicinal_request* request) {
  return persistent(
      graph, info, request,
      allgather(Among::neighbors, sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype));
}

int vicinal_neighbor_allgatherv(const void* sendbuf, int sendcount, MPI_Datatype sendtype,
                                void* recvbuf, const int recvcounts[], const int displs[],
                                MPI_Datatype recvtype, vicinal_graph graph) {
  return blocking(graph, allgatherv(Among::neighbors, sendbuf, sendcount, sendtype, recvbuf,
                                    recvcounts, displs, recvtype));
}

int vicinal_ineighbor_allgatherv(const void* sendbuf, int sendcount, MPI_Datatype sendtype,
                                 void* recvbuf, const int recvcounts[], const int displs[],
                                 MPI_Datatype recvtype, vicinal_graph graph,
                                 vicinal_request* request) {
  return nonblocking(graph, request,
                     allgatherv(Among::neighbors, sendbuf, sendcount, sendtype, recvbuf, recvcounts,
                                displs, recvtype));
}

int vicinal_neighbor_allgatherv_init(const void* sendbuf, int sendcount, MPI_Datatype sendtype,
                                     void* recvbuf, const int recvcounts[], const int displs[],
                                     MPI_Datatype recvtype, vicinal_graph graph, MPI_Info info,
                                     vicinal_request* request) {
  return persistent(graph, info, request,
                    allgatherv(Among::neighbors, sendbuf, sendcount, sendtype, recvbuf, recvcounts,
                               displs, recvtype));
}

int vicinal_neighbor_allgatherv_c(const void* sendbuf, MPI_Count sendcount, MPI_Datatype sendtype,
                                  void* recvbuf, const MPI_Count recvcounts[],
                                  const MPI_Aint displs[], MPI_Datatype recvtype,
                                  vicinal_graph graph) {
  return blocking(graph, allgatherv(Among::neighbors, sendbuf, sendcount, sendtype, recvbuf,
                                    recvcounts, displs, recvtype));
}

int vicinal_ineighbor_allgatherv_c(const void* sendbuf, MPI_Count sendcount, MPI_Datatype sendtype,
                                   void* recvbuf, const MPI_Count recvcounts[],
                                   const MPI_Aint displs[], MPI_Datatype recvtype,
                                   vicinal_graph graph, vicinal_request* request) {
  return nonblocking(graph, request,
                     allgatherv(Among::neighbors, sendbuf, sendcount, sendtype, recvbuf, recvcounts,
                                displs, recvtype));
}

int vicinal_neighbor_allgatherv_init_c(const void* sendbuf, MPI_Count sendcount,
                                       MPI_Datatype sendtype, void* recvbuf,
                                       const MPI_Count recvcounts[], const MPI_Aint displs[],
                                       MPI_Datatype recvtype, vicinal_graph graph, MPI_Info info,
                                       vicinal_request* request) {
  return persistent(graph, info, request,
                    allgatherv(Among::neighbors, sendbuf, sendcount, sendtype, recvbuf, recvcounts,
                               displs, recvtype));
}

}  // extern "C"
