// The C interface: alltoallv over a communicator.
#include "api/neighbor.hpp"

namespace vicinal::c_api {
namespace {

/// Reads the arguments as alltoallv() on the complete graph, or as in place.
template <class Count, class Displacement>
auto alltoallv_of_all(const void* sendbuf, const Count* sendcounts, const Displacement* sdispls,
                      MPI_Datatype sendtype, void* recvbuf, const Count* recvcounts,
                      const Displacement* rdispls, MPI_Datatype recvtype) {
  return [=](const Graph& graph, NeighborArguments& arguments) {
    if (sendbuf != MPI_IN_PLACE) {
      alltoallv(sendbuf, sendcounts, sdispls, sendtype, recvbuf, recvcounts, rdispls, recvtype)(
          graph, arguments);
      return;
    }
    arguments.receive =
        blocks_of(recvbuf, recvcounts, rdispls, recvtype, graph.sources(), names_of("receive"));
    arguments.send = sent_in_place(arguments.receive);
  };
}

}  // namespace
}  // namespace vicinal::c_api

using namespace vicinal::c_api;

extern "C" {

int vicinal_alltoallv(const void* sendbuf, const int sendcounts[], const int sdispls[],
                      MPI_Datatype sendtype, void* recvbuf, const int recvcounts[],
                      const int rdispls[], MPI_Datatype recvtype, MPI_Comm comm) {
  return blocking(comm, alltoallv_of_all(sendbuf, sendcounts, sdispls, sendtype, recvbuf,
                                         recvcounts, rdispls, recvtype));
}

int vicinal_ialltoallv(const void* sendbuf, const int sendcounts[], const int sdispls[],
                       MPI_Datatype sendtype, void* recvbuf, const int recvcounts[],
                       const int rdispls[], MPI_Datatype recvtype, MPI_Comm comm,
                       vicinal_request* request) {
  return nonblocking(comm, request,
                     alltoallv_of_all(sendbuf, sendcounts, sdispls, sendtype, recvbuf, recvcounts,
                                      rdispls, recvtype));
}

int vicinal_alltoallv_init(const void* sendbuf, const int sendcounts[], const int sdispls[],
                           MPI_Datatype sendtype, void* recvbuf, const int recvcounts[],
                           const int rdispls[], MPI_Datatype recvtype, MPI_Comm comm, MPI_Info info,
                           vicinal_request* request) {
  return persistent(comm, info, request,
                    alltoallv_of_all(sendbuf, sendcounts, sdispls, sendtype, recvbuf, recvcounts,
                                     rdispls, recvtype));
}

int vicinal_alltoallv_c(const void* sendbuf, const MPI_Count sendcounts[], const MPI_Aint sdispls[],
                        MPI_Datatype sendtype, void* recvbuf, const MPI_Count recvcounts[],
                        const MPI_Aint rdispls[], MPI_Datatype recvtype, MPI_Comm comm) {
  return blocking(comm, alltoallv_of_all(sendbuf, sendcounts, sdispls, sendtype, recvbuf,
                                         recvcounts, rdispls, recvtype));
}

int vicinal_ialltoallv_c(const void* sendbuf, const MPI_Count sendcounts[],
                         const MPI_Aint sdispls[], MPI_Datatype sendtype, void* recvbuf,
                         const MPI_Count recvcounts[], const MPI_Aint rdispls[],
                         MPI_Datatype recvtype, MPI_Comm comm, vicinal_request* request) {
  return nonblocking(comm, request,
                     alltoallv_of_all(sendbuf, sendcounts, sdispls, sendtype, recvbuf, recvcounts,
                                      rdispls, recvtype));
}

int vicinal_alltoallv_init_c(const void* sendbuf, const MPI_Count sendcounts[],
                             const MPI_Aint sdispls[], MPI_Datatype sendtype, void* recvbuf,
                             const MPI_Count recvcounts[], const MPI_Aint rdispls[],
                             MPI_Datatype recvtype, MPI_Comm comm, MPI_Info info,
                             vicinal_request* request) {
  return persistent(comm, info, request,
                    alltoallv_of_all(sendbuf, sendcounts, sdispls, sendtype, recvbuf, recvcounts,
                                     rdispls, recvtype));
}

}  // extern "C"
