// The words for faults.
#include "base/error.hpp"

#include <exception>
#include <new>
#include <stdexcept>

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
    case Fault::unsupported: return "unsupported-operation";
    case Fault::elsewhere: return "remote";
    case Fault::internal: return "internal";
  }
  return "unknown";
}

Error current_fault() {
  try {
    throw;
  } catch (const Error& error) {
    return error;
  } catch (const std::bad_alloc&) {
    return {Fault::memory, "out of memory"};
  } catch (const std::length_error&) {
    return {Fault::memory, "out of memory: more was asked for than can ever be had"};
  } catch (const std::exception& error) {
    return {Fault::internal, error.what()};
  } catch (...) {
    return {Fault::internal, "an exception of unknown kind"};
  }
}

}  // namespace vicinal
