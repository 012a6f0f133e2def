// Neighborhood collectives, of communicators that are served. Each is a reader of its arguments
// (collectives/c_api_arguments.hpp) in one of three forms.
#include <mpi.h>

#include <array>

#include "collectives/c_api_neighbor.hpp"
#include "interpose/own.hpp"
#include "interpose/served.hpp"
#include "interpose/tokens.hpp"

namespace vicinal::interpose {
namespace {

/// The forms of a collective whose arguments are these, before those that follow from the form.
template <auto read, class... Arguments>
struct Collective {
  static int blocking(Arguments... arguments, MPI_Comm comm) {
    const Served* const served = Served::on(comm);
    if (served == nullptr) return own<&Collective::blocking>(arguments..., comm);
    Ledger* const ledger = served->ledger();
    const void* const ours = reinterpret_cast<const void*>(&Collective::blocking);
    const bool by_mpi = ledger != nullptr && !served->mpi_is_wrong() && ledger->is_mpis_turn(ours);
    const Noted noted(ledger, ours, __builtin_return_address(0), by_mpi);
    if (by_mpi) return own<&Collective::blocking>(arguments..., comm);
    return c_api::guarded(
        comm, [&] { c_api::begin(served->graph(), Form::blocking, read(arguments...))->wait(); });
  }

  static int nonblocking(Arguments... arguments, MPI_Comm comm, MPI_Request* request) {
    const Served* const served = Served::on(comm);
    if (served == nullptr) return own<&Collective::nonblocking>(arguments..., comm, request);
    const Noted noted(served->ledger(), reinterpret_cast<const void*>(&Collective::nonblocking),
                      __builtin_return_address(0));
    return c_api::guarded(comm, [&] {
      *request = token_for_call(
          *served, c_api::begin(served->graph(), Form::nonblocking, read(arguments...)));
    });
  }

  static int persistent(Arguments... arguments, MPI_Comm comm, MPI_Info info,
                        MPI_Request* request) {
    const Served* const served = Served::on(comm);
    if (served == nullptr) return own<&Collective::persistent>(arguments..., comm, info, request);
    const Noted noted(served->ledger(), reinterpret_cast<const void*>(&Collective::persistent),
                      __builtin_return_address(0));
    return c_api::guarded(comm, [&] {
      const Graph& graph = *served->graph();
      Settings settings = graph.settings();
      const auto unreadable = c_api::fault_of([&] {
        if (info == MPI_INFO_NULL) return;
        settings = read_settings(info);
        settings.options.strict_progress |= graph.settings().options.strict_progress;
      });
      *request = token_for_executions(
          *served, std::unique_ptr<Request>(
                       c_api::plan(served->graph(), settings, unreadable, read(arguments...))));
    });
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

/// With counts and displacements of the types that MPI has for them in a form.
template <class Count, class Displacement>
struct Family {
  using Alltoall =
      Collective<&alltoall<Count>, const void*, Count, MPI_Datatype, void*, Count, MPI_Datatype>;
  using Alltoallv = Collective<&c_api::alltoallv<Count, Displacement>, const void*, const Count*,
                               const Displacement*, MPI_Datatype, void*, const Count*,
                               const Displacement*, MPI_Datatype>;
  using Alltoallw =
      Collective<&c_api::alltoallw<Count>, const void*, const Count*, const MPI_Aint*,
                 const MPI_Datatype*, void*, const Count*, const MPI_Aint*, const MPI_Datatype*>;
  using Allgather = Collective<&neighbor_allgather<Count>, const void*, Count, MPI_Datatype, void*,
                               Count, MPI_Datatype>;
  using Allgatherv =
      Collective<&neighbor_allgatherv<Count, Displacement>, const void*, Count, MPI_Datatype, void*,
                 const Count*, const Displacement*, MPI_Datatype>;
};
using Small = Family<int, int>;
using Large = Family<MPI_Count, MPI_Aint>;

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
