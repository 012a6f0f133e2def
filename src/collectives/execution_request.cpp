// Starts the executions of a request, and waits for them.
#include "collectives/execution_request.hpp"

#include <sstream>

#include "memory/kind.hpp"
#include "mpi/environment.hpp"

namespace vicinal {

void ExecutionRequest::start() {
  mpi::check_usable();
  require(ownership() == Ownership::persistent, Fault::request,
          "a request of a halo cannot be started by itself; start the halo again");
  const Starting starting(starting_);
  require(
      !starting.was_disturbed(), Fault::request,
      "another thread was starting this request at the same time; start it from one thread, once "
      "for each wait");
  launch();
}

void ExecutionRequest::refuse_start() const {
  std::ostringstream missing;
  describe_missing(missing);
  fail(Fault::request,
       "a request was started again before its last execution was complete; test or wait first",
       missing.view().empty() ? "" : ": ", missing.view());
}

bool ExecutionRequest::advance() {
  if (!executions_->advance()) return false;
  take();
  return true;
}

void ExecutionRequest::finish() {
  executions_->wait();
  take();
}

void ExecutionRequest::finish_on(std::uintptr_t stream) {
  const Places at = places();
  for (const std::byte* const place : {at.source, at.target}) {
    MemoryKind* const kind = kind_out_of_reach(place);
    require(kind == nullptr || !kind->is_captured(stream), Fault::request,
            "an exchange was to be waited for by a stream that is being captured into a graph; no "
            "exchange can be part of one");
  }
  executions_->wait_on(stream);
  take();
}

}  // namespace vicinal
