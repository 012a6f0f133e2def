// The C interface: allgather and allgatherv over a communicator.
#include "collectives/all_ranks.hpp"
#include "collectives/c_api_neighbor.hpp"

namespace {

using namespace vicinal::c_api;
using vicinal::EdgeData;
using vicinal::Graph;
using vicinal::NeighborArguments;

template <class Count>
EdgeData sent(const void* sendbuf, Count sendcount, MPI_Datatype sendtype, const Graph& graph,
              const EdgeData& receive) {
  if (sendbuf == MPI_IN_PLACE) return vicinal::own_block(receive, graph);
  EdgeData data = vicinal::one_block(sendbuf, sendcount, sendtype, graph.destinations());
  vicinal::check_apart(data, receive);
  return data;
}

template <class Count>
auto allgather(const void* sendbuf, Count sendcount, MPI_Datatype sendtype, void* recvbuf,
               Count recvcount, MPI_Datatype recvtype) {
  return [=](const Graph& graph, NeighborArguments& arguments) {
    arguments.equal_blocks = true;
    arguments.send.one_block = true;
    arguments.receive = vicinal::equal_blocks(recvbuf, recvcount, recvtype, graph.sources());
    arguments.send = sent(sendbuf, sendcount, sendtype, graph, arguments.receive);
  };
}

template <class Count, class Displacement>
auto allgatherv(const void* sendbuf, Count sendcount, MPI_Datatype sendtype, void* recvbuf,
                const Count* recvcounts, const Displacement* displs, MPI_Datatype recvtype) {
  return [=](const Graph& graph, NeighborArguments& arguments) {
    arguments.send.one_block = true;
    arguments.receive = blocks_of(recvbuf, recvcounts, displs, recvtype, graph.sources());
    arguments.send = sent(sendbuf, sendcount, sendtype, graph, arguments.receive);
  };
}

template <class Read>
int blocking_on(MPI_Comm comm, Read read) noexcept {
  return guarded(
      comm, [&] { begin(vicinal::graph_of_all(comm), vicinal::Form::blocking, read)->wait(); });
}

template <class Read>
int nonblocking_on(MPI_Comm comm, vicinal_request* request, Read read) noexcept {
  return guarded(comm, [&] {
    *request =
        handle(begin(vicinal::graph_of_all(comm), vicinal::Form::nonblocking, into(request, read))
                   .release());
  });
}

template <class Read>
int persistent_on(MPI_Comm comm, MPI_Info info, vicinal_request* request, Read read) noexcept {
  return guarded(comm, [&] {
    const auto graph = vicinal::graph_of_all(comm);
    vicinal::Settings settings = graph->settings();
    const auto unreadable = fault_of([&] {
      if (info == MPI_INFO_NULL) return;
      settings = vicinal::read_settings(info);
      vicinal::require(settings.regions == graph->settings().regions, vicinal::Fault::info,
                       "vicinal_regions is '", settings.regions,
                       "' for an allgather over a communicator, whose regions it cannot change; "
                       "call vicinal_set_regions, or create a complete graph with these regions");
    });
    *request = handle(plan(graph, settings, unreadable, into(request, read)));
  });
}

}  // namespace

extern "C" {

int vicinal_allgather(const void* sendbuf, int sendcount, MPI_Datatype sendtype, void* recvbuf,
                      int recvcount, MPI_Datatype recvtype, MPI_Comm comm) {
  return blocking_on(comm, allgather(sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype));
}

int vicinal_iallgather(const void* sendbuf, int sendcount, MPI_Datatype sendtype, void* recvbuf,
                       int recvcount, MPI_Datatype recvtype, MPI_Comm comm,
                       vicinal_request* request) {
  return nonblocking_on(comm, request,
                        allgather(sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype));
}

int vicinal_allgather_init(const void* sendbuf, int sendcount, MPI_Datatype sendtype, void* recvbuf,
                           int recvcount, MPI_Datatype recvtype, MPI_Comm comm, MPI_Info info,
                           vicinal_request* request) {
  return persistent_on(comm, info, request,
                       allgather(sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype));
}

int vicinal_allgather_c(const void* sendbuf, MPI_Count sendcount, MPI_Datatype sendtype,
                        void* recvbuf, MPI_Count recvcount, MPI_Datatype recvtype, MPI_Comm comm) {
  return blocking_on(comm, allgather(sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype));
}

int vicinal_iallgather_c(const void* sendbuf, MPI_Count sendcount, MPI_Datatype sendtype,
                         void* recvbuf, MPI_Count recvcount, MPI_Datatype recvtype, MPI_Comm comm,
                         vicinal_request* request) {
  return nonblocking_on(comm, request,
                        allgather(sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype));
}

int vicinal_allgather_init_c(const void* sendbuf, MPI_Count sendcount, MPI_Datatype sendtype,
                             void* recvbuf, MPI_Count recvcount, MPI_Datatype recvtype,
                             MPI_Comm comm, MPI_Info info, vicinal_request* request) {
  return persistent_on(comm, info, request,
                       allgather(sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype));
}

int vicinal_allgatherv(const void* sendbuf, int sendcount, MPI_Datatype sendtype, void* recvbuf,
                       const int recvcounts[], const int displs[], MPI_Datatype recvtype,
                       MPI_Comm comm) {
  return blocking_on(
      comm, allgatherv(sendbuf, sendcount, sendtype, recvbuf, recvcounts, displs, recvtype));
}

int vicinal_iallgatherv(const void* sendbuf, int sendcount, MPI_Datatype sendtype, void* recvbuf,
                        const int recvcounts[], const int displs[], MPI_Datatype recvtype,
                        MPI_Comm comm, vicinal_request* request) {
  return nonblocking_on(
      comm, request,
      allgatherv(sendbuf, sendcount, sendtype, recvbuf, recvcounts, displs, recvtype));
}

int vicinal_allgatherv_init(const void* sendbuf, int sendcount, MPI_Datatype sendtype,
                            void* recvbuf, const int recvcounts[], const int displs[],
                            MPI_Datatype recvtype, MPI_Comm comm, MPI_Info info,
                            vicinal_request* request) {
  return persistent_on(
      comm, info, request,
      allgatherv(sendbuf, sendcount, sendtype, recvbuf, recvcounts, displs, recvtype));
}

int vicinal_allgatherv_c(const void* sendbuf, MPI_Count sendcount, MPI_Datatype sendtype,
                         void* recvbuf, const MPI_Count recvcounts[], const MPI_Aint displs[],
                         MPI_Datatype recvtype, MPI_Comm comm) {
  return blocking_on(
      comm, allgatherv(sendbuf, sendcount, sendtype, recvbuf, recvcounts, displs, recvtype));
}

int vicinal_iallgatherv_c(const void* sendbuf, MPI_Count sendcount, MPI_Datatype sendtype,
                          void* recvbuf, const MPI_Count recvcounts[], const MPI_Aint displs[],
                          MPI_Datatype recvtype, MPI_Comm comm, vicinal_request* request) {
  return nonblocking_on(
      comm, request,
      allgatherv(sendbuf, sendcount, sendtype, recvbuf, recvcounts, displs, recvtype));
}

int vicinal_allgatherv_init_c(const void* sendbuf, MPI_Count sendcount, MPI_Datatype sendtype,
                              void* recvbuf, const MPI_Count recvcounts[], const MPI_Aint displs[],
                              MPI_Datatype recvtype, MPI_Comm comm, MPI_Info info,
                              vicinal_request* request) {
  return persistent_on(
      comm, info, request,
      allgatherv(sendbuf, sendcount, sendtype, recvbuf, recvcounts, displs, recvtype));
}

}  // extern "C"
