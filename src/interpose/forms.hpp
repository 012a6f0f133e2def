// MPI's own collectives, in their blocking, nonblocking and persistent forms.
#pragma once

#include <mpi.h>

#include <optional>
#include <tuple>
#include <type_traits>
#include <utility>

#include "base/log.hpp"
#include "interpose/guarded_as.hpp"
#include "interpose/narrow.hpp"
#include "interpose/own.hpp"
#include "negotiate/faults.hpp"

namespace vicinal::interpose {

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
      } catch (const SettledFault& fault) {
        if (!mpi_may_take_over) throw;
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
