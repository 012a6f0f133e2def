// The forms with large counts where MPI itself has none: programs that look for them find those of
// the preload library. If a communicator is left to MPI, its forms with small counts serve it.
#pragma once

#include <mpi.h>

#include <cstdint>
#include <map>
#include <tuple>
#include <utility>
#include <vector>

#include "api/arguments.hpp"
#include "base/error.hpp"
#include "base/guarded.hpp"
#include "base/no_destructor.hpp"
#include "mpi/attachment.hpp"
#include "mpi/topology.hpp"

namespace vicinal::interpose {

/// Counts and displacements as small numbers. Owns the arrays.
class SmallNumbers {
 public:
  static SmallNumbers of_neighbors(MPI_Comm comm) {
    const mpi::Topology topology = mpi::topology_of(comm);
    return {topology.sources.ranks.size(), topology.destinations.ranks.size()};
  }
  static SmallNumbers of_all_ranks(MPI_Comm comm) {
    const auto size = static_cast<std::size_t>(mpi::size_of_other_group(comm));
    return {size, size};
  }
  [[nodiscard]] static int one(MPI_Count value) {
    require(std::in_range<int>(value), Fault::count, "the number ", value,
            " was given to a form with large counts, which this MPI does not have");
    return static_cast<int>(value);
  }
  template <class Number>
  const int* outgoing(const Number* values) {
    return list(values, out_);
  }
  template <class Number>
  const int* incoming(const Number* values) {
    return list(values, in_);
  }

 private:
  SmallNumbers(std::size_t in, std::size_t out) : in_(in), out_(out) {}
  template <class Number>
  const int* list(const Number* values, std::size_t count) {
    c_api::check_list(values, static_cast<std::int64_t>(count), "counts or displacements");
    std::vector<int>& small = lists_.emplace_back();
    for (std::size_t i = 0; i < count; ++i) small.push_back(one(values[i]));
    return small.data();
  }
  std::size_t in_;
  std::size_t out_;
  std::vector<std::vector<int>> lists_;
};

/// Keeps arrays that MPI reads while a request is active, until MPI gives the handle to another
/// request.
inline void keep_for(MPI_Request request, SmallNumbers numbers) {
  static Mutex mutex;
  static NoDestructor<std::map<MPI_Request, SmallNumbers>> kept;
  const Lock lock(mutex);
  kept->insert_or_assign(request, std::move(numbers));
}

// The arguments of each collective in its form with small counts.

inline auto small_blocks(SmallNumbers&, const void* sendbuf, MPI_Count sendcount,
                         MPI_Datatype sendtype, void* recvbuf, MPI_Count recvcount,
                         MPI_Datatype recvtype) {
  return std::tuple(sendbuf, SmallNumbers::one(sendcount), sendtype, recvbuf,
                    SmallNumbers::one(recvcount), recvtype);
}
inline auto small_alltoallv(SmallNumbers& to, const void* sendbuf, const MPI_Count* sendcounts,
                            const MPI_Aint* sdispls, MPI_Datatype sendtype, void* recvbuf,
                            const MPI_Count* recvcounts, const MPI_Aint* rdispls,
                            MPI_Datatype recvtype) {
  return std::tuple(sendbuf, to.outgoing(sendcounts), to.outgoing(sdispls), sendtype, recvbuf,
                    to.incoming(recvcounts), to.incoming(rdispls), recvtype);
}
inline auto small_alltoallw(SmallNumbers& to, const void* sendbuf, const MPI_Count* sendcounts,
                            const MPI_Aint* sdispls, const MPI_Datatype* sendtypes, void* recvbuf,
                            const MPI_Count* recvcounts, const MPI_Aint* rdispls,
                            const MPI_Datatype* recvtypes) {
  return std::tuple(sendbuf, to.outgoing(sendcounts), sdispls, sendtypes, recvbuf,
                    to.incoming(recvcounts), rdispls, recvtypes);
}
inline auto small_allgatherv(SmallNumbers& to, const void* sendbuf, MPI_Count sendcount,
                             MPI_Datatype sendtype, void* recvbuf, const MPI_Count* recvcounts,
                             const MPI_Aint* displs, MPI_Datatype recvtype) {
  return std::tuple(sendbuf, SmallNumbers::one(sendcount), sendtype, recvbuf,
                    to.incoming(recvcounts), to.incoming(displs), recvtype);
}

}  // namespace vicinal::interpose
