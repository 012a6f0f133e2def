// The C interface: neighborhood alltoall, alltoallv and alltoallw.
#include <algorithm>

#include "api/neighbor.hpp"

using namespace vicinal::c_api;
using vicinal::Graph;
using vicinal::Index;
using vicinal::NeighborArguments;

extern "C" {

int vicinal_neighbor_alltoall(const void* sendbuf, int sendcount, MPI_Datatype sendtype,
                              void* recvbuf, int recvcount, MPI_Datatype recvtype,
                              vicinal_graph graph) {
  return blocking(graph, alltoall(sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype));
}

int vicinal_ineighbor_alltoall(const void* sendbuf, int sendcount, MPI_Datatype sendtype,
                               void* recvbuf, int recvcount, MPI_Datatype recvtype,
                               vicinal_graph graph, vicinal_request* request) {
  return nonblocking(graph, request,
                     alltoall(sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype));
}

int vicinal_neighbor_alltoall_init(const void* sendbuf, int sendcount, MPI_Datatype sendtype,
                                   void* recvbuf, int recvcount, MPI_Datatype recvtype,
                                   vicinal_graph graph, MPI_Info info, vicinal_request* request) {
  return persistent(graph, info, request,
                    alltoall(sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype));
}

int vicinal_neighbor_alltoall_c(const void* sendbuf, MPI_Count sendcount, MPI_Datatype sendtype,
                                void* recvbuf, MPI_Count recvcount, MPI_Datatype recvtype,
                                vicinal_graph graph) {
  return blocking(graph, alltoall(sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype));
}

int vicinal_ineighbor_alltoall_c(const void* sendbuf, MPI_Count sendcount, MPI_Datatype sendtype,
                                 void* recvbuf, MPI_Count recvcount, MPI_Datatype recvtype,
                                 vicinal_graph graph, vicinal_request* request) {
  return nonblocking(graph, request,
                     alltoall(sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype));
}

int vicinal_neighbor_alltoall_init_c(const void* sendbuf, MPI_Count sendcount,
                                     MPI_Datatype sendtype, void* recvbuf, MPI_Count recvcount,
                                     MPI_Datatype recvtype, vicinal_graph graph, MPI_Info info,
                                     vicinal_request* request) {
  return persistent(graph, info, request,
                    alltoall(sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype));
}

int vicinal_neighbor_alltoallv(const void* sendbuf, const int sendcounts[], const int sdispls[],
                               MPI_Datatype sendtype, void* recvbuf, const int recvcounts[],
                               const int rdispls[], MPI_Datatype recvtype, vicinal_graph graph) {
  return blocking(graph, alltoallv(sendbuf, sendcounts, sdispls, sendtype, recvbuf, recvcounts,
                                   rdispls, recvtype));
}

int vicinal_ineighbor_alltoallv(const void* sendbuf, const int sendcounts[], const int sdispls[],
                                MPI_Datatype sendtype, void* recvbuf, const int recvcounts[],
                                const int rdispls[], MPI_Datatype recvtype, vicinal_graph graph,
                                vicinal_request* request) {
  return nonblocking(
      graph, request,
      alltoallv(sendbuf, sendcounts, sdispls, sendtype, recvbuf, recvcounts, rdispls, recvtype));
}

int vicinal_neighbor_alltoallv_init(const void* sendbuf, const int sendcounts[],
                                    const int sdispls[], MPI_Datatype sendtype, void* recvbuf,
                                    const int recvcounts[], const int rdispls[],
                                    MPI_Datatype recvtype, vicinal_graph graph, MPI_Info info,
                                    vicinal_request* request) {
  return persistent(
      graph, info, request,
      alltoallv(sendbuf, sendcounts, sdispls, sendtype, recvbuf, recvcounts, rdispls, recvtype));
}

int vicinal_neighbor_alltoallv_c(const void* sendbuf, const MPI_Count sendcounts[],
                                 const MPI_Aint sdispls[], MPI_Datatype sendtype, void* recvbuf,
                                 const MPI_Count recvcounts[], const MPI_Aint rdispls[],
                                 MPI_Datatype recvtype, vicinal_graph graph) {
  return blocking(graph, alltoallv(sendbuf, sendcounts, sdispls, sendtype, recvbuf, recvcounts,
                                   rdispls, recvtype));
}

int vicinal_ineighbor_alltoallv_c(const void* sendbuf, const MPI_Count sendcounts[],
                                  const MPI_Aint sdispls[], MPI_Datatype sendtype, void* recvbuf,
                                  const MPI_Count recvcounts[], const MPI_Aint rdispls[],
                                  MPI_Datatype recvtype, vicinal_graph graph,
                                  vicinal_request* request) {
  return nonblocking(
      graph, request,
      alltoallv(sendbuf, sendcounts, sdispls, sendtype, recvbuf, recvcounts, rdispls, recvtype));
}

int vicinal_neighbor_alltoallv_init_c(const void* sendbuf, const MPI_Count sendcounts[],
                                      const MPI_Aint sdispls[], MPI_Datatype sendtype,
                                      void* recvbuf, const MPI_Count recvcounts[],
                                      const MPI_Aint rdispls[], MPI_Datatype recvtype,
                                      vicinal_graph graph, MPI_Info info,
                                      vicinal_request* request) {
  return persistent(
      graph, info, request,
      alltoallv(sendbuf, sendcounts, sdispls, sendtype, recvbuf, recvcounts, rdispls, recvtype));
}

int vicinal_neighbor_alltoallv_items_init(const void* sendbuf, const int sendcounts[],
                                          const int sdispls[], const int64_t senditems[],
                                          MPI_Datatype sendtype, void* recvbuf,
                                          const int recvcounts[], const int rdispls[],
                                          MPI_Datatype recvtype, vicinal_graph graph, MPI_Info info,
                                          vicinal_request* request) {
  return persistent(graph, info, request, [&](const Graph& on, NeighborArguments& arguments) {
    alltoallv(sendbuf, sendcounts, sdispls, sendtype, recvbuf, recvcounts, rdispls, recvtype)(
        on, arguments);
    Index elements = 0;
    for (const vicinal::EdgePiece& piece : arguments.send.pieces) {
      elements += std::max<Index>(piece.count, 0);
    }
    arguments.items = list(senditems, elements, "identities");
  });
}

int vicinal_neighbor_alltoallw(const void* sendbuf, const int sendcounts[],
                               const MPI_Aint sdispls[], const MPI_Datatype sendtypes[],
                               void* recvbuf, const int recvcounts[], const MPI_Aint rdispls[],
                               const MPI_Datatype recvtypes[], vicinal_graph graph) {
  return blocking(graph, alltoallw(sendbuf, sendcounts, sdispls, sendtypes, recvbuf, recvcounts,
                                   rdispls, recvtypes));
}

int vicinal_ineighbor_alltoallw(const void* sendbuf, const int sendcounts[],
                                const MPI_Aint sdispls[], const MPI_Datatype sendtypes[],
                                void* recvbuf, const int recvcounts[], const MPI_Aint rdispls[],
                                const MPI_Datatype recvtypes[], vicinal_graph graph,
                                vicinal_request* request) {
  return nonblocking(
      graph, request,
      alltoallw(sendbuf, sendcounts, sdispls, sendtypes, recvbuf, recvcounts, rdispls, recvtypes));
}

int vicinal_neighbor_alltoallw_init(const void* sendbuf, const int sendcounts[],
                                    const MPI_Aint sdispls[], const MPI_Datatype sendtypes[],
                                    void* recvbuf, const int recvcounts[], const MPI_Aint rdispls[],
                                    const MPI_Datatype recvtypes[], vicinal_graph graph,
                                    MPI_Info info, vicinal_request* request) {
  return persistent(
      graph, info, request,
      alltoallw(sendbuf, sendcounts, sdispls, sendtypes, recvbuf, recvcounts, rdispls, recvtypes));
}

int vicinal_neighbor_alltoallw_c(const void* sendbuf, const MPI_Count sendcounts[],
                                 const MPI_Aint sdispls[], const MPI_Datatype sendtypes[],
                                 void* recvbuf, const MPI_Count recvcounts[],
                                 const MPI_Aint rdispls[], const MPI_Datatype recvtypes[],
                                 vicinal_graph graph) {
  return blocking(graph, alltoallw(sendbuf, sendcounts, sdispls, sendtypes, recvbuf, recvcounts,
                                   rdispls, recvtypes));
}

int vicinal_ineighbor_alltoallw_c(const void* sendbuf, const MPI_Count sendcounts[],
                                  const MPI_Aint sdispls[], const MPI_Datatype sendtypes[],
                                  void* recvbuf, const MPI_Count recvcounts[],
                                  const MPI_Aint rdispls[], const MPI_Datatype recvtypes[],
                                  vicinal_graph graph, vicinal_request* request) {
  return nonblocking(
      graph, request,
      alltoallw(sendbuf, sendcounts, sdispls, sendtypes, recvbuf, recvcounts, rdispls, recvtypes));
}

int vicinal_neighbor_alltoallw_init_c(const void* sendbuf, const MPI_Count sendcounts[],
                                      const MPI_Aint sdispls[], const MPI_Datatype sendtypes[],
                                      void* recvbuf, const MPI_Count recvcounts[],
                                      const MPI_Aint rdispls[], const MPI_Datatype recvtypes[],
                                      vicinal_graph graph, MPI_Info info,
                                      vicinal_request* request) {
  return persistent(
      graph, info, request,
      alltoallw(sendbuf, sendcounts, sdispls, sendtypes, recvbuf, recvcounts, rdispls, recvtypes));
}

}  // extern "C"
