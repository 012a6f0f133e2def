// Errors inside the library are exceptions, thrown where the fault is detected. The message says
// what was given, what was expected and what to do. Errors become MPI error classes only at the C
// boundary (src/api), so no layer below it needs to know how MPI reports errors.
#pragma once

#include <exception>
#include <optional>
#include <sstream>
#include <stdexcept>
#include <string>

namespace vicinal {

/// Kind of a fault; src/mpi translates each to an MPI error class.
enum class Fault {
  argument,      ///< an invalid argument (MPI_ERR_ARG)
  buffer,        ///< a null buffer with a nonzero count (MPI_ERR_BUFFER)
  count,         ///< a negative count, or counts that differ across an edge (MPI_ERR_COUNT)
  rank,          ///< a rank outside the communicator (MPI_ERR_RANK)
  type,          ///< an unsupported datatype (MPI_ERR_TYPE)
  topology,      ///< an invalid region map or graph (MPI_ERR_TOPOLOGY)
  communicator,  ///< an unsuitable communicator (MPI_ERR_COMM)
  info,          ///< an invalid info value, or an unknown strategy (MPI_ERR_INFO_VALUE)
  request,       ///< a request in the wrong state (MPI_ERR_REQUEST)
  operation,     ///< an unsupported reduction operator (MPI_ERR_OP)
  memory,        ///< memory or shared memory that cannot be allocated (MPI_ERR_NO_MEM)
  device,        ///< a failure of a device or its driver (MPI_ERR_OTHER)
  unsupported,   ///< unsupported by this build or this MPI (MPI_ERR_UNSUPPORTED_OPERATION)
  elsewhere,     ///< another rank reported a fault; the message names it (MPI_ERR_OTHER)
  internal,      ///< a broken invariant of the library (MPI_ERR_INTERN)
};

/// Returns the name of a fault in messages: "count", "topology", ...
const char* name(Fault fault);

class Error : public std::runtime_error {
 public:
  Error(Fault fault, const std::string& message) : std::runtime_error(message), fault_(fault) {}
  /// Copies the message of `other`, under another fault. Does not allocate: the copies share the
  /// message.
  Error(Fault fault, const Error& other) noexcept : std::runtime_error(other), fault_(fault) {}
  [[nodiscard]] Fault fault() const noexcept { return fault_; }

  /// Returns this error as one that all ranks that depend on each other throw, each in its own
  /// words. This rank has sent everything that the others wait for. After any other error, they keep
  /// waiting for it.
  [[nodiscard]] Error on_all_ranks() const noexcept;
  [[nodiscard]] bool is_on_all_ranks() const noexcept { return is_on_all_ranks_; }

  /// Returns this error as one that began on another rank, which has told this one.
  [[nodiscard]] Error from_rank(int rank) const noexcept;
  /// Returns that rank; -1 for an error of this rank, and for one on all ranks.
  [[nodiscard]] int origin() const noexcept { return origin_; }

 private:
  Fault fault_;
  bool is_on_all_ranks_ = false;
  int origin_ = -1;
};

/// Returns any exception as an Error. Only this function assigns faults to other exception types.
/// Does not allocate for std::bad_alloc.
Error as_error(const std::exception& exception);
/// Returns the exception being handled, of any type, as an Error.
Error current_fault();

/// Runs a local step unless `fault` is set; an exception from the step becomes the fault.
template <class Step>
void attempt(std::optional<Error>& fault, Step step) {
  if (fault) return;
  try {
    step();
  } catch (...) {
    fault = current_fault();
  }
}

/// Throws an Error whose message is the concatenation of all parts.
template <class... Parts>
[[noreturn]] void fail(Fault fault, const Parts&... parts) {
  std::ostringstream text;
  (text << ... << parts);
  throw Error(fault, text.str());
}

/// Throws as `fail(fault, parts...)` unless `condition` holds.
template <class... Parts>
void require(bool condition, Fault fault, const Parts&... parts) {
  if (!condition) fail(fault, parts...);
}

}  // namespace vicinal
