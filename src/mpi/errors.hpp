// The boundary between exceptions and MPI error codes, in both directions.
#pragma once

#include <mpi.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "base/error.hpp"

namespace vicinal::mpi {

/// The MPI error class of a fault.
[[nodiscard]] int error_class(Fault fault) noexcept;

/// Remembers the message for this thread and calls the error handler of the user's communicator
/// (of MPI_COMM_WORLD where `user` is null; where MPI may not be called, or there is none, only the line is written). Where that handler ends the program, one line goes to
/// stderr first, since MPI would only print the class. Returns the class.
int raise(MPI_Comm user, const Error& error) noexcept;

/// The same as an error of MPI's own `function`: the code that it returns has the message for its text.
int raise_for(const std::string& function, MPI_Comm user, const Error& error) noexcept;

/// The text of the last error raised on this thread; "" before the first.
[[nodiscard]] const char* last_error_message() noexcept;

/// Throws an Error with MPI's own text. A message that was longer than its receive is a count fault.
[[noreturn]] void throw_mpi_error(int code, const char* what);

/// Throws what a request has failed with. One that was to receive `expected` bytes from `peer`, and was
/// sent more, is a count fault that says so.
[[noreturn]] void throw_message_error(int code, int peer, std::int64_t expected, const char* what);

/// MPI_ERRORS_RETURN, whatever its value in the MPI that is called.
[[nodiscard]] MPI_Errhandler errors_return();

/// As long as it lives, errors of freeing end no program: MPI reports those of an object that is no more on one
/// of these two. MPICH takes it for an error that messages have come which nobody received.
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

}  // namespace vicinal::mpi
