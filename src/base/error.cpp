// Names of faults, and the conversion of exceptions to errors.
#include "base/error.hpp"

#include <exception>
#include <new>
#include <stdexcept>

#include "base/no_destructor.hpp"

namespace vicinal {

const char* name(Fault fault) {
  switch (fault) {
    case Fault::argument: return "argument";
    case Fault::buffer: return "buffer";
    case Fault::count: return "count";
    case Fault::rank: return "rank";
    case Fault::type: return "datatype";
    case Fault::topology: return "topology";
    case Fault::communicator: return "communicator";
    case Fault::info: return "info";
    case Fault::request: return "request";
    case Fault::operation: return "operation";
    case Fault::memory: return "memory";
    case Fault::device: return "device";
    case Fault::unsupported: return "unsupported-operation";
    case Fault::elsewhere: return "remote";
    case Fault::internal: return "internal";
  }
  return "unknown";
}

namespace {

/// Constructed at load time, because it cannot be allocated when memory has run out.
NoDestructor<Error> no_memory(Fault::memory, "there is not enough memory for what was asked for");

}  // namespace

Error Error::on_all_ranks() const noexcept {
  Error copy(*this);
  copy.is_on_all_ranks_ = true;
  copy.origin_ = -1;
  return copy;
}

Error Error::from_rank(int rank) const noexcept {
  Error copy(*this);
  copy.origin_ = rank;
  return copy;
}

Error as_error(const std::exception& exception) {
  if (const auto* error = dynamic_cast<const Error*>(&exception)) return *error;
  // Both mean that the requested size cannot be allocated.
  if (dynamic_cast<const std::bad_alloc*>(&exception) != nullptr ||
      dynamic_cast<const std::length_error*>(&exception) != nullptr) {
    return *no_memory;
  }
  return {Fault::internal, exception.what()};
}

Error current_fault() {
  try {
    throw;
  } catch (const std::exception& exception) {
    return as_error(exception);
  } catch (...) {
    return {Fault::internal, "an exception of unknown kind"};
  }
}

}  // namespace vicinal
