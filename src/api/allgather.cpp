// The C interface: allgather and allgatherv over a communicator.
#include "api/neighbor.hpp"

using namespace vicinal::c_api;

extern "C" {

int vicinal_allgather(const void* sendbuf, int sendcount, MPI_Datatype sendtype, void* recvbuf,
                      int recvcount, MPI_Datatype recvtype, MPI_Comm comm) {
  return blocking(comm, allgather(Among::all_ranks, sendbuf, sendcount, sendtype, recvbuf,
                                  recvcount, recvtype));
}

int vicinal_iallgather(const void* sendbuf, int sendcount, MPI_Datatype sendtype, void* recvbuf,
                       int recvcount, MPI_Datatype recvtype, MPI_Comm comm,
                       vicinal_request* request) {
  return nonblocking(
      comm, request,
      allgather(Among::all_ranks, sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype));
}

int vicinal_allgather_init(const void* sendbuf, int sendcount, MPI_Datatype sendtype, void* recvbuf,
                           int recvcount, MPI_Datatype recvtype, MPI_Comm comm, MPI_Info info,
                           vicinal_request* request) {
  return persistent(
      comm, info, request,
      allgather(Among::all_ranks, sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype));
}

int vicinal_allgather_c(const void* sendbuf, MPI_Count sendcount, MPI_Datatype sendtype,
                        void* recvbuf, MPI_Count recvcount, MPI_Datatype recvtype, MPI_Comm comm) {
  return blocking(comm, allgather(Among::all_ranks, sendbuf, sendcount, sendtype, recvbuf,
                                  recvcount, recvtype));
}

int vicinal_iallgather_c(const void* sendbuf, MPI_Count sendcount, MPI_Datatype sendtype,
                         void* recvbuf, MPI_Count recvcount, MPI_Datatype recvtype, MPI_Comm comm,
                         vicinal_request* request) {
  return nonblocking(
      comm, request,
      allgather(Among::all_ranks, sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype));
}

int vicinal_allgather_init_c(const void* sendbuf, MPI_Count sendcount, MPI_Datatype sendtype,
                             void* recvbuf, MPI_Count recvcount, MPI_Datatype recvtype,
                             MPI_Comm comm, MPI_Info info, vicinal_request* request) {
  return persistent(
      comm, info, request,
      allgather(Among::all_ranks, sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype));
}

int vicinal_allgatherv(const void* sendbuf, int sendcount, MPI_Datatype sendtype, void* recvbuf,
                       const int recvcounts[], const int displs[], MPI_Datatype recvtype,
                       MPI_Comm comm) {
  return blocking(comm, allgatherv(Among::all_ranks, sendbuf, sendcount, sendtype, recvbuf,
                                   recvcounts, displs, recvtype));
}

int vicinal_iallgatherv(const void* sendbuf, int sendcount, MPI_Datatype sendtype, void* recvbuf,
                        const int recvcounts[], const int displs[], MPI_Datatype recvtype,
                        MPI_Comm comm, vicinal_request* request) {
  return nonblocking(comm, request,
                     allgatherv(Among::all_ranks, sendbuf, sendcount, sendtype, recvbuf, recvcounts,
                                displs, recvtype));
}

int vicinal_allgatherv_init(const void* sendbuf, int sendcount, MPI_Datatype sendtype,
                            void* recvbuf, const int recvcounts[], const int displs[],
                            MPI_Datatype recvtype, MPI_Comm comm, MPI_Info info,
                            vicinal_request* request) {
  return persistent(comm, info, request,
                    allgatherv(Among::all_ranks, sendbuf, sendcount, sendtype, recvbuf, recvcounts,
                               displs, recvtype));
}

int vicinal_allgatherv_c(const void* sendbuf, MPI_Count sendcount, MPI_Datatype sendtype,
                         void* recvbuf, const MPI_Count recvcounts[], const MPI_Aint displs[],
                         MPI_Datatype recvtype, MPI_Comm comm) {
  return blocking(comm, allgatherv(Among::all_ranks, sendbuf, sendcount, sendtype, recvbuf,
                                   recvcounts, displs, recvtype));
}

int vicinal_iallgatherv_c(const void* sendbuf, MPI_Count sendcount, MPI_Datatype sendtype,
                          void* recvbuf, const MPI_Count recvcounts[], const MPI_Aint displs[],
                          MPI_Datatype recvtype, MPI_Comm comm, vicinal_request* request) {
  return nonblocking(comm, request,
                     allgatherv(Among::all_ranks, sendbuf, sendcount, sendtype, recvbuf, recvcounts,
                                displs, recvtype));
}

int vicinal_allgatherv_init_c(const void* sendbuf, MPI_Count sendcount, MPI_Datatype sendtype,
                              void* recvbuf, const MPI_Count recvcounts[], const MPI_Aint displs[],
                              MPI_Datatype recvtype, MPI_Comm comm, MPI_Info info,
                              vicinal_request* request) {
  return persistent(comm, info, request,
                    allgatherv(Among::all_ranks, sendbuf, sendcount, sendtype, recvbuf, recvcounts,
                               displs, recvtype));
}

}  // extern "C"
