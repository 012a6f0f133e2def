// Reads the arguments of the C interface: converts the users' pointers and counts into lists and
// structures. Functions throw errors where they read. In collective calls fault_of() catches them,
// since other ranks must learn of them.
//
// A reader of a neighborhood collective is a function made of the call's arguments. It runs once
// the graph is known.
#pragma once

#include <mpi.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "base/error.hpp"
#include "collectives/edge_data.hpp"
#include "collectives/graph.hpp"
#include "collectives/halo.hpp"
#include "collectives/sparse_exchange.hpp"

namespace vicinal::c_api {

template <class Handle>
void require_handle(Handle given, const char* what) {
  require(given != nullptr, Fault::argument, "a null ", what, " was given");
}

template <class Number>
void check_list(const Number* values, std::int64_t count, const char* what) {
  require(count >= 0, Fault::argument, "the number of ", what, " is ", count,
          "; it must not be negative");
  require(count == 0 || values != nullptr, Fault::argument, count, " ", what,
          " were announced, but the array is null");
}

template <class Number>
std::vector<Number> list(const Number* values, std::int64_t count, const char* what) {
  check_list(values, count, what);
  return {values, values + count};
}

/// Returns the error that `read` throws, if any. In collective calls, ranks that wait for this rank
/// must learn of it.
template <class Read>
std::optional<Error> fault_of(Read read) {
  try {
    read();
  } catch (...) {
    return current_fault();
  }
  return std::nullopt;
}

/// Checks an array that has an entry for each of `ends.ranks`.
template <class Entry>
void check_entries(const Entry* entries, const char* name, const char* what, const Ends& ends) {
  require(entries != nullptr || ends.entry_of.empty(), Fault::argument, name,
          " is a null array of ", what, ", but there are ", ends.entry_of.size(), " edges");
}

/// Makes the fault of a datatype name the argument.
template <class Read>
EdgeData of_type(const char* name, Read read) {
  try {
    return read();
  } catch (const Error& error) {
    if (error.fault() != Fault::type) throw;
    fail(Fault::type, name, ": ", error.what());
  }
}

/// Returns the data of a side with blocks of equal size.
inline EdgeData equal_blocks_of(const void* buffer, Index count, MPI_Datatype type,
                                const Ends& ends, const ArgumentNames& names) {
  return of_type(names.type, [&] { return equal_blocks(buffer, count, type, ends); });
}

template <class Count, class Displacement>
EdgeData blocks_of(const void* buffer, const Count* counts, const Displacement* displacements,
                   MPI_Datatype type, const Ends& ends, const ArgumentNames& names) {
  check_entries(counts, names.counts, "counts", ends);
  check_entries(displacements, names.displacements, "displacements", ends);
  return of_type(names.type, [&] { return blocks(buffer, counts, displacements, type, ends); });
}

template <class Count>
EdgeData typed_blocks_of(const void* buffer, const Count* counts, const MPI_Aint* displacements,
                         const MPI_Datatype* types, const Ends& ends, const ArgumentNames& names) {
  check_entries(counts, names.counts, "counts", ends);
  check_entries(displacements, names.displacements, "displacements", ends);
  check_entries(types, names.types, "datatypes", ends);
  return typed_blocks(buffer, counts, displacements, types, ends, names.types);
}

template <class Count, class Displacement>
MessageData messages_of(const void* buffer, const Count* counts, const Displacement* displacements,
                        MPI_Datatype type, std::size_t messages) {
  require(messages == 0 || (counts != nullptr && displacements != nullptr), Fault::argument,
          "a null array of counts or displacements was given for ", messages, " messages");
  return {buffer, {counts, counts + messages}, {displacements, displacements + messages}, type};
}

/// Returns the shape of the data of an index of a halo. Throws a type fault if the datatype has
/// gaps.
ValueShape shape_of(std::int64_t values, MPI_Datatype type);

/// Names of the receive arguments of an allgatherv, whose only displacements they have.
inline constexpr ArgumentNames names_of_gathered{"recvcount", "recvcounts", "displs", "recvtype",
                                                 "recvtype"};

/// The ranks of an allgather. Only among all ranks MPI defines MPI_IN_PLACE, and the own block may
/// be one of those received.
enum class Among : std::uint8_t { neighbors, all_ranks };

/// Returns the block that this rank gives to an allgather.
EdgeData given_block(Among among, const void* buffer, Index count, MPI_Datatype type,
                     const Graph& graph, const EdgeData& receive);

/// Returns the size of a block on a rank that participates without edges; else 0.
std::int64_t idle_block_bytes(const Graph& graph, Index count, MPI_Datatype type);

inline auto allgather(Among among, const void* sendbuf, Index sendcount, MPI_Datatype sendtype,
                      void* recvbuf, Index recvcount, MPI_Datatype recvtype) {
  return [=](const Graph& graph, NeighborArguments& arguments) {
    arguments.equal_blocks = true;
    arguments.send.one_block = true;
    arguments.receive =
        equal_blocks_of(recvbuf, recvcount, recvtype, graph.sources(), names_of("receive"));
    arguments.send = given_block(among, sendbuf, sendcount, sendtype, graph, arguments.receive);
    arguments.idle_block_bytes = idle_block_bytes(graph, recvcount, recvtype);
  };
}

template <class Count, class Displacement>
auto allgatherv(Among among, const void* sendbuf, Index sendcount, MPI_Datatype sendtype,
                void* recvbuf, const Count* recvcounts, const Displacement* displs,
                MPI_Datatype recvtype) {
  return [=](const Graph& graph, NeighborArguments& arguments) {
    arguments.send.one_block = true;
    arguments.receive =
        blocks_of(recvbuf, recvcounts, displs, recvtype, graph.sources(), names_of_gathered);
    arguments.send = given_block(among, sendbuf, sendcount, sendtype, graph, arguments.receive);
  };
}

inline auto alltoall(const void* sendbuf, Index sendcount, MPI_Datatype sendtype, void* recvbuf,
                     Index recvcount, MPI_Datatype recvtype) {
  return [=](const Graph& graph, NeighborArguments& arguments) {
    arguments.equal_blocks = true;
    arguments.send =
        equal_blocks_of(sendbuf, sendcount, sendtype, graph.destinations(), names_of("send"));
    arguments.receive =
        equal_blocks_of(recvbuf, recvcount, recvtype, graph.sources(), names_of("receive"));
    arguments.idle_block_bytes = idle_block_bytes(graph, recvcount, recvtype);
  };
}

template <class Count, class Displacement>
auto alltoallv(const void* sendbuf, const Count* sendcounts, const Displacement* sdispls,
               MPI_Datatype sendtype, void* recvbuf, const Count* recvcounts,
               const Displacement* rdispls, MPI_Datatype recvtype) {
  return [=](const Graph& graph, NeighborArguments& arguments) {
    arguments.send =
        blocks_of(sendbuf, sendcounts, sdispls, sendtype, graph.destinations(), names_of("send"));
    arguments.receive =
        blocks_of(recvbuf, recvcounts, rdispls, recvtype, graph.sources(), names_of("receive"));
  };
}

/// Returns a number of partitions for each entry; an empty list if no entry is an edge.
std::vector<int> partitions_by_entry(const int* counts, const char* name, const Ends& ends);

/// Returns a reader that also reads the number of partitions of each edge. `arguments.partitions`
/// is set even if reading fails.
template <class Read>
auto in_partitions(Read read, const int* sendpartitions, const int* recvpartitions) {
  return [=](const Graph& graph, NeighborArguments& arguments) {
    arguments.partitions.emplace();
    read(graph, arguments);
    arguments.partitions->send =
        partitions_by_entry(sendpartitions, "sendpartitions", graph.destinations());
    arguments.partitions->receive =
        partitions_by_entry(recvpartitions, "recvpartitions", graph.sources());
  };
}

template <class Count>
auto alltoallw(const void* sendbuf, const Count* sendcounts, const MPI_Aint* sdispls,
               const MPI_Datatype* sendtypes, void* recvbuf, const Count* recvcounts,
               const MPI_Aint* rdispls, const MPI_Datatype* recvtypes) {
  return [=](const Graph& graph, NeighborArguments& arguments) {
    arguments.send = typed_blocks_of(sendbuf, sendcounts, sdispls, sendtypes, graph.destinations(),
                                     names_of("send"));
    arguments.receive = typed_blocks_of(recvbuf, recvcounts, rdispls, recvtypes, graph.sources(),
                                        names_of("receive"));
  };
}

}  // namespace vicinal::c_api
