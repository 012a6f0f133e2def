// The words for faults.
#include "base/error.hpp"

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

}  // namespace vicinal
