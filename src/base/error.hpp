// Errors inside the library are exceptions, thrown where the fault is seen, whose message says what
// was given, what was expected and what to do. They become MPI error classes only at the C boundary
// (src/collectives), so that nothing below it needs to know how MPI reports errors.
#pragma once

#include <exception>
#include <optional>
#include <sstream>
#include <stdexcept>
#include <string>

namespace vicinal {

/// What kind of fault it is; src/mpi translates each to an MPI error class.
enum class Fault {
  argument,      ///< an argument that cannot be right on its own (MPI_ERR_ARG)
  buffer,        ///< a null buffer where data was announced (MPI_ERR_BUFFER)
  count,         ///< a negative count, or counts that differ across an edge (MPI_ERR_COUNT)
  rank,          ///< a rank outside the communicator (MPI_ERR_RANK)
  type,          ///< a datatype that cannot be used here (MPI_ERR_TYPE)
  topology,      ///< a region map or a graph that does not fit (MPI_ERR_TOPOLOGY)
  communicator,  ///< a communicator that cannot be used (MPI_ERR_COMM)
  info,          ///< an info value that cannot be read, or an unknown strategy (MPI_ERR_INFO_VALUE)
  request,       ///< a request in the wrong state (MPI_ERR_REQUEST)
  operation,     ///< a reduction operator that cannot be used (MPI_ERR_OP)
  memory,        ///< memory or shared memory that could not be had (MPI_ERR_NO_MEM)
  device,        ///< a device or its driver, which have failed (MPI_ERR_OTHER)
  unsupported,   ///< something this build or this MPI cannot do (MPI_ERR_UNSUPPORTED_OPERATION)
  elsewhere,     ///< another rank reported a fault; the message names it (MPI_ERR_OTHER)
  internal,      ///< a broken invariant of the library (MPI_ERR_INTERN)
};

/// The word for a fault in messages: "count", "topology", ...
const char* name(Fault fault);

class Error : public std::runtime_error {
 public:
  Error(Fault fault, const std::string& message) : std::runtime_error(message), fault_(fault) {}
  /// With the same message. Takes no memory, as copying does not.
  Error(Fault fault, const Error& other) noexcept : std::runtime_error(other), fault_(fault) {}
  [[nodiscard]] Fault fault() const noexcept { return fault_; }

 private:
  Fault fault_;
};

/// Any exception as an Error: the one place where those of other kinds get a fault. That there is no memory takes none to say.
Error as_error(const std::exception& exception);
/// The exception that is being handled, whatever it is, as an Error.
Error current_fault();

/// Runs a step of this rank alone, unless there is a fault already; what it throws becomes the fault.
template <class Step>
void attempt(std::optional<Error>& fault, Step step) {
  if (fault) return;
  try {
    step();
  } catch (...) {
    fault = current_fault();
  }
}

/// Throws an Error whose message is all the parts, streamed one after the other.
template <class... Parts>
[[noreturn]] void fail(Fault fault, const Parts&... parts) {
  std::ostringstream text;
  (text << ... << parts);
  throw Error(fault, text.str());
}

/// Throws `fail(fault, parts...)` unless `condition` holds.
template <class... Parts>
void require(bool condition, Fault fault, const Parts&... parts) {
  if (!condition) fail(fault, parts...);
}

}  // namespace vicinal
