// MPI's own collectives, in their blocking, nonblocking and persistent forms. The preload library
// also has the forms with large counts where MPI itself has none: programs that look for them find
// these. If a communicator is left to MPI, its forms with small counts serve it.
#pragma once

#include <mpi.h>

#include <cstdint>
#include <map>
#include <optional>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "api/arguments.hpp"
#include "base/error.hpp"
#include "base/guarded.hpp"
#include "base/log.hpp"
#include "base/no_destructor.hpp"
#include "interpose/guarded_as.hpp"
#include "interpose/own.hpp"
#include "mpi/attachment.hpp"
#include "mpi/topology.hpp"
#include "negotiate/faults.hpp"

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

/// For forms with small counts, which every MPI has.
struct NoneSmaller {
  template <class Self>
  using Forms = Self;
};
/// For forms with large counts: the form with small counts, and the functions that convert the
/// arguments.
template <class Small, auto numbers_for, auto arguments>
struct Smaller {
  template <class Self>
  using Forms = Small;
  static constexpr auto numbers = numbers_for;
  static constexpr auto small = arguments;
};

/// `Self` has the functions `blocking`, `nonblocking` and `persistent` that replace MPI's.
/// `Arguments` are those before the communicator.
template <class Self, class SmallerForm, class... Arguments>
struct FormsOfMpi {
  static int blocking_of_mpi(Arguments... arguments, MPI_Comm comm) {
    return by_mpi<&Self::blocking, &Small<>::blocking>(nullptr, arguments..., comm);
  }
  static int nonblocking_of_mpi(Arguments... arguments, MPI_Comm comm, MPI_Request* request) {
    return by_mpi<&Self::nonblocking, &Small<>::nonblocking, MPI_Request*>(request, arguments...,
                                                                           comm, request);
  }
  static int persistent_of_mpi(Arguments... arguments, MPI_Comm comm, MPI_Info info,
                               MPI_Request* request) {
    return by_mpi<&Self::persistent, &Small<>::persistent, MPI_Info, MPI_Request*>(
        request, arguments..., comm, info, request);
  }

  /// Makes a request by `plan`. If no rank has a plan, and MPI may take over, MPI makes the
  /// request, or reports errors in the arguments.
  template <class Plan>
  static int planned_or_of_mpi(bool mpi_may_take_over, Plan plan, Arguments... arguments,
                               MPI_Comm comm, MPI_Info info, MPI_Request* request) {
    const void* const ours = reinterpret_cast<const void*>(&Self::persistent);
    bool is_left = false;
    const int code = guarded_as(ours, comm, [&] {
      try {
        plan();
      } catch (const Error& fault) {
        if (!mpi_may_take_over || !fault.is_on_all_ranks()) throw;
        is_left = true;
        log_once(LogLevel::info, "a request of ", function_of(ours),
                 " is left to MPI: ", fault.what());
      }
    });
    return is_left ? persistent_of_mpi(arguments..., comm, info, request) : code;
  }

 private:
  template <class It = Self>
  using Small = typename SmallerForm::template Forms<It>;

  /// Calls MPI's own function, which `ours` replaces. If MPI has none of that name, calls the form
  /// with small counts, `small`. Both have the arguments `rest` after the communicator. `request`:
  /// of an operation that continues after the call, or null.
  template <auto ours, auto small, class... Rest>
  static int by_mpi(MPI_Request* request, Arguments... arguments, MPI_Comm comm, Rest... rest) {
    if constexpr (!std::is_same_v<SmallerForm, NoneSmaller>) {
      if (own<ours> == nullptr) {
        std::optional<SmallNumbers> numbers;
        decltype(SmallerForm::small(*numbers, arguments...)) in_small;
        const int wrong = guarded_as(reinterpret_cast<const void*>(ours), comm, [&] {
          require(own<small> != nullptr, Fault::unsupported, "this MPI does not have the function");
          in_small = SmallerForm::small(numbers.emplace(SmallerForm::numbers(comm)), arguments...);
        });
        if (wrong != MPI_SUCCESS) return wrong;
        const int code =
            std::apply([&](auto... all) { return own<small>(all..., comm, rest...); }, in_small);
        if (code == MPI_SUCCESS && request != nullptr) keep_for(*request, std::move(*numbers));
        return code;
      }
    }
    return own<ours>(arguments..., comm, rest...);
  }
};

}  // namespace vicinal::interpose
