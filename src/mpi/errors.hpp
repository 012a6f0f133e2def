// The boundary between exceptions and MPI error codes, in both directions. throw_difference()
// throws, on all ranks, the fault about a setting that two of them gave differently.
#pragma once

#include <mpi.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "base/error.hpp"
#include "base/given.hpp"

namespace vicinal::mpi {

/// Returns the MPI error class of a fault.
[[nodiscard]] int error_class(Fault fault) noexcept;

/// Stores the message for this thread and calls the error handler of the user's communicator (of
/// MPI_COMM_WORLD if `user` is null). If that handler ends the program, one line goes to stderr
/// first, since MPI would print only the class. If MPI may not be called, or there is no
/// communicator, only writes that line. Returns the class.
int raise(MPI_Comm user, const Error& error) noexcept;

/// As raise(), for an error of the MPI function `function`. The returned code has the message as
/// its text.
int raise_for(const std::string& function, MPI_Comm user, const Error& error) noexcept;

/// Returns the text of the last error raised on this thread; "" before the first.
[[nodiscard]] const char* last_error_message() noexcept;

/// Throws an Error with MPI's own text. A message longer than its receive is a count fault.
[[noreturn]] void throw_mpi_error(int code, const char* what);

/// Throws the error of a failed request. If the request was to receive `expected` bytes from `peer`
/// and got more, throws a count fault that says so.
[[noreturn]] void throw_message_error(int code, int peer, std::int64_t expected, const char* what);

/// Returns MPI_ERRORS_RETURN, whatever its value in the MPI that is called.
[[nodiscard]] MPI_Errhandler errors_return();

/// While it lives, an error in freeing does not end the program. MPI reports errors of an object
/// that no longer exists on MPI_COMM_WORLD or MPI_COMM_SELF. MPICH treats messages that were never
/// received as an error.
class ErrorsReturn {
 public:
  ErrorsReturn();
  ErrorsReturn(const ErrorsReturn&) = delete;
  ErrorsReturn& operator=(const ErrorsReturn&) = delete;
  ~ErrorsReturn();

 private:
  struct Kept {
    MPI_Comm communicator;
    MPI_Errhandler handler = MPI_ERRHANDLER_NULL;
  };
  std::array<Kept, 2> kept_ = {{{MPI_COMM_WORLD}, {MPI_COMM_SELF}}};
};

/// Throws an Error with MPI's own text, unless `code` is MPI_SUCCESS.
inline void check(int code, const char* what) {
  if (code != MPI_SUCCESS) [[unlikely]]
    throw_mpi_error(code, what);
}

/// Called once it is known that not all ranks of a communicator of the library gave the same.
/// Throws an info fault on all of them. It names rank 0, the lowest rank that differs from it, and
/// both values. Collective.
[[noreturn]] void throw_difference(MPI_Comm communicator, std::span<const Given> mine);

/// Throws an info fault with the `message` of rank `speaker`. Collective.
[[noreturn]] void throw_told(MPI_Comm communicator, int speaker, const std::string& message);

}  // namespace vicinal::mpi
