// The C interface: neighborhood allgather and allgatherv.
#include "collectives/c_api_neighbor.hpp"

namespace {

using namespace vicinal::c_api;
using vicinal::Graph;
using vicinal::NeighborArguments;

template <class Count>
auto allgather(const void* sendbuf, Count sendcount, MPI_Datatype sendtype, void* recvbuf,
               Count recvcount, MPI_Datatype recvtype) {
  return [=](const Graph& graph, NeighborArguments& arguments) {
    arguments.equal_blocks = true;
    arguments.send.one_block = true;
    arguments.send = vicinal::one_block(sendbuf, sendcount, sendtype, graph.destinations());
    arguments.receive = vicinal::equal_blocks(recvbuf, recvcount, recvtype, graph.sources());
  };
}

template <class Count, class Displacement>
auto allgatherv(const void* sendbuf, Count sendcount, MPI_Datatype sendtype, void* recvbuf,
                const Count* recvcounts, const Displacement* displs, MPI_Datatype recvtype) {
  return [=](const Graph& graph, NeighborArguments& arguments) {
    arguments.send.one_block = true;
    arguments.send = vicinal::one_block(sendbuf, sendcount, sendtype, graph.destinations());
    arguments.receive = blocks_of(recvbuf, recvcounts, displs, recvtype, graph.sources());
  };
}

}  // namespace

extern "C" {

int vicinal_neighbor_allgather(const void* sendbuf, int sendcount, MPI_Datatype sendtype,
                               void* recvbuf, int recvcount, MPI_Datatype recvtype,
                               vicinal_graph graph) {
  return blocking(graph, allgather(sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype));
}

int vicinal_ineighbor_allgather(const void* sendbuf, int sendcount, MPI_Datatype sendtype,
                                void* recvbuf, int recvcount, MPI_Datatype recvtype,
                                vicinal_graph graph, vicinal_request* request) {
  return nonblocking(graph, request,
                     allgather(sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype));
}

int vicinal_neighbor_allgather_init(const void* sendbuf, int sendcount, MPI_Datatype sendtype,
                                    void* recvbuf, int recvcount, MPI_Datatype recvtype,
                                    vicinal_graph graph, MPI_Info info, vicinal_request* request) {
  return persistent(graph, info, request,
                    allgather(sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype));
}

int vicinal_neighbor_allgather_c(const void* sendbuf, MPI_Count sendcount, MPI_Datatype sendtype,
                                 void* recvbuf, MPI_Count recvcount, MPI_Datatype recvtype,
                                 vicinal_graph graph) {
  return blocking(graph, allgather(sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype));
}

int vicinal_ineighbor_allgather_c(const void* sendbuf, MPI_Count sendcount, MPI_Datatype sendtype,
                                  void* recvbuf, MPI_Count recvcount, MPI_Datatype recvtype,
                                  vicinal_graph graph, vicinal_request* request) {
  return nonblocking(graph, request,
                     allgather(sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype));
}

int vicinal_neighbor_allgather_init_c(const void* sendbuf, MPI_Count sendcount,
                                      MPI_Datatype sendtype, void* recvbuf, MPI_Count recvcount,
                                      MPI_Datatype recvtype, vicinal_graph graph, MPI_Info info,
                                      vicinal_request* request) {
  return persistent(graph, info, request,
                    allgather(sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype));
}

int vicinal_neighbor_allgatherv(const void* sendbuf, int sendcount, MPI_Datatype sendtype,
                                void* recvbuf, const int recvcounts[], const int displs[],
                                MPI_Datatype recvtype, vicinal_graph graph) {
  return blocking(graph,
                  allgatherv(sendbuf, sendcount, sendtype, recvbuf, recvcounts, displs, recvtype));
}

int vicinal_ineighbor_allgatherv(const void* sendbuf, int sendcount, MPI_Datatype sendtype,
                                 void* recvbuf, const int recvcounts[], const int displs[],
                                 MPI_Datatype recvtype, vicinal_graph graph,
                                 vicinal_request* request) {
  return nonblocking(
      graph, request,
      allgatherv(sendbuf, sendcount, sendtype, recvbuf, recvcounts, displs, recvtype));
}

int vicinal_neighbor_allgatherv_init(const void* sendbuf, int sendcount, MPI_Datatype sendtype,
                                     void* recvbuf, const int recvcounts[], const int displs[],
                                     MPI_Datatype recvtype, vicinal_graph graph, MPI_Info info,
                                     vicinal_request* request) {
  return persistent(
      graph, info, request,
      allgatherv(sendbuf, sendcount, sendtype, recvbuf, recvcounts, displs, recvtype));
}

int vicinal_neighbor_allgatherv_c(const void* sendbuf, MPI_Count sendcount, MPI_Datatype sendtype,
                                  void* recvbuf, const MPI_Count recvcounts[],
                                  const MPI_Aint displs[], MPI_Datatype recvtype,
                                  vicinal_graph graph) {
  return blocking(graph,
                  allgatherv(sendbuf, sendcount, sendtype, recvbuf, recvcounts, displs, recvtype));
}

int vicinal_ineighbor_allgatherv_c(const void* sendbuf, MPI_Count sendcount, MPI_Datatype sendtype,
                                   void* recvbuf, const MPI_Count recvcounts[],
                                   const MPI_Aint displs[], MPI_Datatype recvtype,
                                   vicinal_graph graph, vicinal_request* request) {
  return nonblocking(
      graph, request,
      allgatherv(sendbuf, sendcount, sendtype, recvbuf, recvcounts, displs, recvtype));
}

int vicinal_neighbor_allgatherv_init_c(const void* sendbuf, MPI_Count sendcount,
                                       MPI_Datatype sendtype, void* recvbuf,
                                       const MPI_Count recvcounts[], const MPI_Aint displs[],
                                       MPI_Datatype recvtype, vicinal_graph graph, MPI_Info info,
                                       vicinal_request* request) {
  return persistent(
      graph, info, request,
      allgatherv(sendbuf, sendcount, sendtype, recvbuf, recvcounts, displs, recvtype));
}

}  // extern "C"
