// Neighborhood collectives of communicators that vicinal serves. Each is a reader of its arguments
// (api/arguments.hpp) in one of three forms.
#include <mpi.h>

#include <array>
#include <memory>
#include <tuple>
#include <type_traits>
#include <utility>

#include "api/neighbor.hpp"
#include "interpose/forms.hpp"
#include "interpose/generalized_requests.hpp"
#include "interpose/guarded_as.hpp"
#include "interpose/own.hpp"
#include "interpose/serving.hpp"
#include "mpi/backoff.hpp"

namespace vicinal::interpose {
namespace {

/// The three forms of a collective. `Arguments` are those that all forms have.
template <class SmallerForm, auto read, class... Arguments>
struct Collective
    : FormsOfMpi<Collective<SmallerForm, read, Arguments...>, SmallerForm, Arguments...> {
  using OfMpi = FormsOfMpi<Collective, SmallerForm, Arguments...>;

  static int blocking(Arguments... arguments, MPI_Comm comm) {
    const Served* const served = Served::on(comm);
    if (served == nullptr) return OfMpi::blocking_of_mpi(arguments..., comm);
    const void* const ours = reinterpret_cast<const void*>(&Collective::blocking);
    const Noted noted(served->call_profile(), ours, __builtin_return_address(0));
    return guarded_as(ours, comm,
                      [&] { c_api::complete(*served->graph(), leniently(arguments...)); });
  }

  static int nonblocking(Arguments... arguments, MPI_Comm comm, MPI_Request* request) {
    const Served* const served = Served::on(comm);
    if (served == nullptr) return OfMpi::nonblocking_of_mpi(arguments..., comm, request);
    const void* const ours = reinterpret_cast<const void*>(&Collective::nonblocking);
    const Noted noted(served->call_profile(), ours, __builtin_return_address(0));
    return guarded_as(ours, comm, [&] {
      *request = request_for_call({ours, served->errors()},
                                  c_api::begin(served->graph(), leniently(arguments...)));
    });
  }

  static int persistent(Arguments... arguments, MPI_Comm comm, MPI_Info info,
                        MPI_Request* request) {
    const Served* const served = Served::on(comm);
    if (served == nullptr) return OfMpi::persistent_of_mpi(arguments..., comm, info, request);
    const void* const ours = reinterpret_cast<const void*>(&Collective::persistent);
    const Noted noted(served->call_profile(), ours, __builtin_return_address(0));
    return OfMpi::planned_or_of_mpi(
        served->mpi_may_take_over(),
        [&] {
          const Graph& graph = *served->graph();
          const auto settings_of_call = [&] {
            if (info == MPI_INFO_NULL) return graph.settings();
            Settings settings = read_settings(info, comm);
            settings.options.strict_progress |= graph.settings().options.strict_progress;
            return settings;
          };
          *request = request_for_executions(
              {ours, served->errors()},
              c_api::plan(served->graph(), settings_of_call, leniently(arguments...)));
        },
        arguments..., comm, info, request);
  }

 private:
  /// Returns a reader that allows messages to be shorter than announced, as MPI's own messages may
  /// be.
  static auto leniently(Arguments... arguments) {
    return [from = read(arguments...)](const Graph& graph, NeighborArguments& given) {
      from(graph, given);
      given.receive.at_most = true;
    };
  }
};

template <class Count>
auto neighbor_allgather(const void* sendbuf, Count sendcount, MPI_Datatype sendtype, void* recvbuf,
                        Count recvcount, MPI_Datatype recvtype) {
  return c_api::allgather(c_api::Among::neighbors, sendbuf, sendcount, sendtype, recvbuf, recvcount,
                          recvtype);
}

template <class Count, class Displacement>
auto neighbor_allgatherv(const void* sendbuf, Count sendcount, MPI_Datatype sendtype, void* recvbuf,
                         const Count* recvcounts, const Displacement* displs,
                         MPI_Datatype recvtype) {
  return c_api::allgatherv(c_api::Among::neighbors, sendbuf, sendcount, sendtype, recvbuf,
                           recvcounts, displs, recvtype);
}

template <class Count>
auto alltoall(const void* sendbuf, Count sendcount, MPI_Datatype sendtype, void* recvbuf,
              Count recvcount, MPI_Datatype recvtype) {
  return c_api::alltoall(sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype);
}

/// The collectives with one type of counts and one of displacements. The other parameters are their
/// forms with smaller types.
template <class Count, class Displacement, class Blocks, class V, class W, class Gather,
          class GatherV>
struct Family {
  using Alltoall = Collective<Blocks, &alltoall<Count>, const void*, Count, MPI_Datatype, void*,
                              Count, MPI_Datatype>;
  using Alltoallv = Collective<V, &c_api::alltoallv<Count, Displacement>, const void*, const Count*,
                               const Displacement*, MPI_Datatype, void*, const Count*,
                               const Displacement*, MPI_Datatype>;
  using Alltoallw =
      Collective<W, &c_api::alltoallw<Count>, const void*, const Count*, const MPI_Aint*,
                 const MPI_Datatype*, void*, const Count*, const MPI_Aint*, const MPI_Datatype*>;
  using Allgather = Collective<Gather, &neighbor_allgather<Count>, const void*, Count, MPI_Datatype,
                               void*, Count, MPI_Datatype>;
  using Allgatherv =
      Collective<GatherV, &neighbor_allgatherv<Count, Displacement>, const void*, Count,
                 MPI_Datatype, void*, const Count*, const Displacement*, MPI_Datatype>;
};
using Small = Family<int, int, NoneSmaller, NoneSmaller, NoneSmaller, NoneSmaller, NoneSmaller>;
template <class Form, auto arguments>
using Neighbors = Smaller<Form, &SmallNumbers::of_neighbors, arguments>;
using Large = Family<
    MPI_Count, MPI_Aint, Neighbors<Small::Alltoall, &small_blocks>,
    Neighbors<Small::Alltoallv, &small_alltoallv>, Neighbors<Small::Alltoallw, &small_alltoallw>,
    Neighbors<Small::Allgather, &small_blocks>, Neighbors<Small::Allgatherv, &small_allgatherv>>;

#define VICINAL_ROWS(name, Type)                               \
  row<&Small::Type::blocking>("Neighbor_" name),               \
      row<&Small::Type::nonblocking>("Ineighbor_" name),       \
      row<&Small::Type::persistent>("Neighbor_" name "_init"), \
      row<&Large::Type::blocking>("Neighbor_" name "_c"),      \
      row<&Large::Type::nonblocking>("Ineighbor_" name "_c"),  \
      row<&Large::Type::persistent>("Neighbor_" name "_init_c")

}  // namespace

std::span<const Row> exchanges() {
  static const std::array rows = {
      VICINAL_ROWS("alltoall", Alltoall),     VICINAL_ROWS("alltoallv", Alltoallv),
      VICINAL_ROWS("alltoallw", Alltoallw),   VICINAL_ROWS("allgather", Allgather),
      VICINAL_ROWS("allgatherv", Allgatherv),
  };
  return rows;
}

}  // namespace vicinal::interpose
