// The C interface: exceptions become MPI error classes here, and nowhere else.
#include <vicinal/vicinal.h>

#include <exception>
#include <iostream>
#include <memory>
#include <vector>

#include "collectives/combine_of.hpp"
#include "collectives/graph.hpp"
#include "collectives/halo.hpp"
#include "collectives/neighbor_alltoallv.hpp"
#include "collectives/request.hpp"
#include "mpi/errors.hpp"
#include "plan/checks.hpp"

struct vicinal_graph_s {
  std::shared_ptr<vicinal::Graph> graph;
};
struct vicinal_halo_s {
  std::unique_ptr<vicinal::Halo> halo;
};

namespace {

using vicinal::Error;
using vicinal::Fault;
using vicinal::Index;
using vicinal::Request;
using vicinal::require;

/// Runs `body`; reports what it throws to the error handler of `user`.
template <class Body>
int guarded(MPI_Comm user, Body body) noexcept {
  try {
    body();
    return MPI_SUCCESS;
  } catch (const Error& error) {
    return vicinal::mpi::raise(user, error);
  } catch (const std::bad_alloc&) {
    return vicinal::mpi::raise(user, Error(Fault::memory, "out of memory"));
  } catch (const std::exception& error) {
    return vicinal::mpi::raise(user, Error(Fault::internal, error.what()));
  }
}

Request* object(vicinal_request request) { return reinterpret_cast<Request*>(request); }
vicinal_request handle(Request* request) { return reinterpret_cast<vicinal_request>(request); }

MPI_Comm user_of(vicinal_request request) {
  return request == nullptr ? MPI_COMM_NULL : object(request)->user();
}
MPI_Comm user_of(vicinal_graph graph) {
  return graph == nullptr ? MPI_COMM_NULL : graph->graph->user();
}
MPI_Comm user_of(vicinal_halo halo) {
  return halo == nullptr ? MPI_COMM_NULL : halo->halo->graph().user();
}

template <class Handle>
void require_handle(Handle given, const char* what) {
  require(given != nullptr, Fault::argument, "a null ", what, " was given");
}

template <class Number>
std::vector<Number> list(const Number* values, std::int64_t count, const char* what) {
  require(count >= 0, Fault::argument, "the number of ", what, " is ", count,
          "; it must not be negative");
  require(count == 0 || values != nullptr, Fault::argument, count, " ", what,
          " were announced, but the array is null");
  return {values, values + count};
}

/// What is wrong with the arguments, where something is. In collective calls the others, who are
/// waiting for this rank, must learn of it.
template <class Read>
std::optional<Error> fault_of(Read read) {
  try {
    read();
  } catch (const Error& error) {
    return error;
  }
  return std::nullopt;
}

/// A request of a halo is forgotten by its holder once it is complete.
void settle(vicinal_request* request) {
  if (!object(*request)->persistent()) *request = VICINAL_REQUEST_NULL;
}

/// Counts and displacements of any integer type, an entry per edge.
template <class Count, class Displacement>
vicinal::EdgeData edges(const void* buffer, const Count* counts, const Displacement* displacements,
                        MPI_Datatype type, std::size_t degree) {
  vicinal::EdgeData data;
  data.buffer = buffer;
  data.type = type;
  if (degree == 0 && type == MPI_DATATYPE_NULL) data.type = MPI_BYTE;
  require(degree == 0 || (counts != nullptr && displacements != nullptr), Fault::argument,
          "a null array of counts or displacements was given for ", degree, " edges");
  for (std::size_t i = 0; i < degree; ++i) {
    data.counts.push_back(static_cast<Index>(counts[i]));
    data.displacements.push_back(static_cast<Index>(displacements[i]));
  }
  return data;
}

template <class Count, class Displacement>
int alltoallv_init(const void* sendbuf, const Count* sendcounts, const Displacement* sdispls,
                   const std::int64_t* senditems, bool with_items, MPI_Datatype sendtype,
                   void* recvbuf, const Count* recvcounts, const Displacement* rdispls,
                   MPI_Datatype recvtype, vicinal_graph graph, MPI_Info info,
                   vicinal_request* request) noexcept {
  return guarded(user_of(graph), [&] {
    require_handle(graph, "graph");
    require_handle(request, "request");
    const vicinal::Neighborhood& neighborhood = graph->graph->neighborhood();
    vicinal::EdgeData send, receive;
    std::optional<std::vector<Index>> items;
    vicinal::Settings settings = graph->graph->settings();
    const auto unreadable = fault_of([&] {
      if (info != MPI_INFO_NULL) settings = vicinal::read_settings(info);
    });
    if (unreadable) graph->graph->refuse_plan(*unreadable);
    auto fault = fault_of([&] {
      send = edges(sendbuf, sendcounts, sdispls, sendtype, neighborhood.destinations.size());
      receive = edges(recvbuf, recvcounts, rdispls, recvtype, neighborhood.sources.size());
      if (with_items) {
        Index elements = 0;
        for (const Index count : send.counts) elements += std::max<Index>(count, 0);
        items = list(senditems, elements, "identities");
      }
    });
    *request = handle(new vicinal::NeighborAlltoallv(graph->graph, send, std::move(items), receive,
                                                     settings, std::move(fault)));
  });
}

vicinal::ValueShape shape_of(std::int64_t values, MPI_Datatype type) {
  const vicinal::mpi::Datatype description = vicinal::mpi::describe(type);
  require(description.contiguous, Fault::type, "the datatype given for a halo has gaps: ",
          description.size, " bytes of data in an extent of ", description.extent,
          "; give a type without gaps, and the number of values per index");
  vicinal::ValueShape shape;
  shape.value_bytes = description.size;
  shape.values = values;
  return shape;
}

template <class Owned>
int create_halo(MPI_Comm comm, Owned owned, std::int64_t needed_count, const std::int64_t* needed,
                bool with_owners, const int* owners, MPI_Info info, vicinal_halo* halo) noexcept {
  return guarded(comm, [&] {
    require_handle(halo, "halo");
    std::vector<Index> wanted;
    std::optional<std::vector<int>> ranks;
    if (with_owners) ranks.emplace();
    vicinal::Halo::Owned indices{decltype(owned()){}};
    vicinal::Settings settings;
    auto fault = fault_of([&] {
      wanted = list(needed, needed_count, "needed indices");
      if (with_owners) ranks = list(owners, needed_count, "owners");
      indices.indices = owned();
      settings = vicinal::read_settings(info);
    });
    auto made = std::make_unique<vicinal_halo_s>();
    made->halo = std::make_unique<vicinal::Halo>(comm, indices, wanted, ranks, std::move(settings),
                                                 std::move(fault));
    *halo = made.release();
  });
}

}  // namespace

extern "C" {

const char* vicinal_version(void) { return VICINAL_VERSION_STRING; }

const char* vicinal_error_message(void) { return vicinal::mpi::last_error_message(); }

int vicinal_set_regions(MPI_Comm comm, const char* regions) {
  return guarded(comm, [&] {
    require_handle(regions, "text");
    vicinal::mpi::Communicator::of(comm)->set_regions(regions);
  });
}

int vicinal_get_regions(MPI_Comm comm, int region_of[]) {
  return guarded(comm, [&] {
    require_handle(region_of, "array");
    const auto machine = vicinal::mpi::Communicator::of(comm)->machine();
    for (int rank = 0; rank < machine->size(); ++rank) region_of[rank] = machine->region_of(rank);
  });
}

int vicinal_graph_create_adjacent(MPI_Comm comm, int indegree, const int sources[],
                                  const int* sourceweights, int outdegree,
                                  const int destinations[], const int* destweights, MPI_Info info,
                                  int reorder, vicinal_graph* graph) {
  // Weights could only steer a reordering, and ranks are never reordered.
  static_cast<void>(sourceweights);
  static_cast<void>(destweights);
  static_cast<void>(reorder);
  return guarded(comm, [&] {
    require_handle(graph, "graph");
    auto made = std::make_unique<vicinal_graph_s>();
    std::vector<int> from, to;
    vicinal::Settings settings;
    const auto fault = fault_of([&] {
      from = list(sources, indegree, "sources");
      to = list(destinations, outdegree, "destinations");
      settings = vicinal::read_settings(info);
    });
    made->graph = std::make_shared<vicinal::Graph>(comm, std::move(from), std::move(to),
                                                   std::move(settings), fault);
    *graph = made.release();
  });
}

int vicinal_graph_free(vicinal_graph* graph) {
  return guarded(MPI_COMM_NULL, [&] {
    require_handle(graph, "pointer to a graph");
    delete *graph;
    *graph = VICINAL_GRAPH_NULL;
  });
}

int vicinal_neighbor_alltoallv_init(const void* sendbuf, const int sendcounts[],
                                    const int sdispls[], MPI_Datatype sendtype, void* recvbuf,
                                    const int recvcounts[], const int rdispls[],
                                    MPI_Datatype recvtype, vicinal_graph graph, MPI_Info info,
                                    vicinal_request* request) {
  return alltoallv_init(sendbuf, sendcounts, sdispls, nullptr, false, sendtype, recvbuf, recvcounts,
                        rdispls, recvtype, graph, info, request);
}

int vicinal_neighbor_alltoallv_init_c(const void* sendbuf, const MPI_Count sendcounts[],
                                      const MPI_Aint sdispls[], MPI_Datatype sendtype,
                                      void* recvbuf, const MPI_Count recvcounts[],
                                      const MPI_Aint rdispls[], MPI_Datatype recvtype,
                                      vicinal_graph graph, MPI_Info info,
                                      vicinal_request* request) {
  return alltoallv_init(sendbuf, sendcounts, sdispls, nullptr, false, sendtype, recvbuf, recvcounts,
                        rdispls, recvtype, graph, info, request);
}

int vicinal_neighbor_alltoallv_items_init(const void* sendbuf, const int sendcounts[],
                                          const int sdispls[], const int64_t senditems[],
                                          MPI_Datatype sendtype, void* recvbuf,
                                          const int recvcounts[], const int rdispls[],
                                          MPI_Datatype recvtype, vicinal_graph graph, MPI_Info info,
                                          vicinal_request* request) {
  return alltoallv_init(sendbuf, sendcounts, sdispls, senditems, true, sendtype, recvbuf, recvcounts,
                        rdispls, recvtype, graph, info, request);
}

int vicinal_start(vicinal_request* request) {
  return guarded(request == nullptr ? MPI_COMM_NULL : user_of(*request), [&] {
    require_handle(request, "pointer to a request");
    require(*request != nullptr, Fault::request, "a null request was started");
    object(*request)->start();
  });
}

int vicinal_startall(int count, vicinal_request requests[]) {
  for (int i = 0; i < count; ++i) {
    const int code = vicinal_start(&requests[i]);
    if (code != MPI_SUCCESS) return code;
  }
  return MPI_SUCCESS;
}

int vicinal_test(vicinal_request* request, int* flag) {
  return guarded(request == nullptr ? MPI_COMM_NULL : user_of(*request), [&] {
    require_handle(request, "pointer to a request");
    require_handle(flag, "flag");
    const bool done = *request == nullptr || object(*request)->test();
    if (done && *request != nullptr) settle(request);
    *flag = done ? 1 : 0;
  });
}

int vicinal_wait(vicinal_request* request) {
  return guarded(request == nullptr ? MPI_COMM_NULL : user_of(*request), [&] {
    require_handle(request, "pointer to a request");
    if (*request == nullptr) return;
    object(*request)->wait();
    settle(request);
  });
}

int vicinal_waitall(int count, vicinal_request requests[]) {
  for (int i = 0; i < count; ++i) {
    const int code = vicinal_wait(&requests[i]);
    if (code != MPI_SUCCESS) return code;
  }
  return MPI_SUCCESS;
}

int vicinal_waitany(int count, vicinal_request requests[], int* index) {
  return guarded(count > 0 && requests != nullptr ? user_of(requests[0]) : MPI_COMM_NULL, [&] {
    require_handle(index, "index");
    std::vector<Request*> objects;
    for (int i = 0; i < count; ++i) objects.push_back(object(requests[i]));
    const int found = vicinal::wait_any(objects);
    if (found >= 0) settle(&requests[found]);
    *index = found >= 0 ? found : MPI_UNDEFINED;
  });
}

int vicinal_request_free(vicinal_request* request) {
  return guarded(request == nullptr ? MPI_COMM_NULL : user_of(*request), [&] {
    require_handle(request, "pointer to a request");
    if (*request == nullptr) return;
    require(object(*request)->persistent(), Fault::request,
            "a request of a halo was to be freed; wait for it instead, it belongs to the halo");
    delete object(*request);
    *request = VICINAL_REQUEST_NULL;
  });
}

int vicinal_progress(void) {
  vicinal::progress();
  return MPI_SUCCESS;
}

int vicinal_dump(void) {
  return guarded(MPI_COMM_NULL, [] { vicinal::describe_pending(std::cerr); });
}

int vicinal_halo_create(MPI_Comm comm, int64_t first, int64_t last, int64_t needed_count,
                        const int64_t needed[], MPI_Info info, vicinal_halo* halo) {
  const auto owned = [&] { return std::pair<Index, Index>(first, last); };
  return create_halo(comm, owned, needed_count, needed, false, nullptr, info, halo);
}

int vicinal_halo_create_indexed(MPI_Comm comm, int64_t owned_count, const int64_t owned[],
                                int64_t needed_count, const int64_t needed[], MPI_Info info,
                                vicinal_halo* halo) {
  const auto indices = [&] { return list(owned, owned_count, "owned indices"); };
  return create_halo(comm, indices, needed_count, needed, false, nullptr, info, halo);
}

int vicinal_halo_create_with_owners(MPI_Comm comm, int64_t owned_count, const int64_t owned[],
                                    int64_t needed_count, const int64_t needed[],
                                    const int owners[], MPI_Info info, vicinal_halo* halo) {
  const auto indices = [&] { return list(owned, owned_count, "owned indices"); };
  return create_halo(comm, indices, needed_count, needed, true, owners, info, halo);
}

int vicinal_halo_free(vicinal_halo* halo) {
  return guarded(MPI_COMM_NULL, [&] {
    require_handle(halo, "pointer to a halo");
    delete *halo;
    *halo = VICINAL_HALO_NULL;
  });
}

int vicinal_halo_start(vicinal_halo halo, const void* owned, void* ghosts, int64_t values,
                       MPI_Datatype type, vicinal_request* request) {
  return guarded(user_of(halo), [&] {
    require_handle(halo, "halo");
    require_handle(request, "request");
    *request = handle(&halo->halo->start(owned, ghosts, shape_of(values, type)));
  });
}

int vicinal_halo_start_vectors(vicinal_halo halo, const void* owned, int64_t owned_stride,
                               void* ghosts, int64_t ghost_stride, int64_t vectors, int64_t values,
                               MPI_Datatype type, vicinal_request* request) {
  return guarded(user_of(halo), [&] {
    require_handle(halo, "halo");
    require_handle(request, "request");
    vicinal::ValueShape shape = shape_of(values, type);
    shape.vectors = vectors;
    shape.source_stride = owned_stride;
    shape.target_stride = ghost_stride;
    *request = handle(&halo->halo->start(owned, ghosts, shape));
  });
}

int vicinal_halo_reverse_start(vicinal_halo halo, void* owned, const void* ghosts, int64_t values,
                               MPI_Datatype type, MPI_Op op, vicinal_request* request) {
  return guarded(user_of(halo), [&] {
    require_handle(halo, "halo");
    require_handle(request, "request");
    *request = handle(&halo->halo->start_reverse(owned, ghosts, shape_of(values, type),
                                                 vicinal::combine_of(op, type, values)));
  });
}

int vicinal_halo_exchange(vicinal_halo halo, const void* owned, void* ghosts, int64_t values,
                          MPI_Datatype type) {
  vicinal_request request = VICINAL_REQUEST_NULL;
  const int code = vicinal_halo_start(halo, owned, ghosts, values, type, &request);
  return code == MPI_SUCCESS ? vicinal_wait(&request) : code;
}

int vicinal_halo_reverse(vicinal_halo halo, void* owned, const void* ghosts, int64_t values,
                         MPI_Datatype type, MPI_Op op) {
  vicinal_request request = VICINAL_REQUEST_NULL;
  const int code = vicinal_halo_reverse_start(halo, owned, ghosts, values, type, op, &request);
  return code == MPI_SUCCESS ? vicinal_wait(&request) : code;
}

int vicinal_halo_get_maps(vicinal_halo halo, vicinal_halo_map* send, vicinal_halo_map* receive) {
  return guarded(user_of(halo), [&] {
    require_handle(halo, "halo");
    require_handle(send, "send map");
    require_handle(receive, "receive map");
    const vicinal::HaloMap& map = halo->halo->map();
    *send = {static_cast<int>(map.send_ranks.size()), map.send_ranks.data(),
             map.send_offsets.data(), map.send_indices.data()};
    *receive = {static_cast<int>(map.receive_ranks.size()), map.receive_ranks.data(),
                map.receive_offsets.data(), map.receive_positions.data()};
  });
}

int vicinal_halo_get_statistics(vicinal_halo halo, vicinal_statistics* statistics) {
  return guarded(user_of(halo), [&] {
    require_handle(halo, "halo");
    require_handle(statistics, "statistics");
    const vicinal::Statistics counted = vicinal::statistics(halo->halo->plan().forward());
    *statistics = {counted.non_local.messages, counted.non_local.elements, counted.local.messages,
                   counted.local.elements, counted.shared_elements};
  });
}

}  // extern "C"
