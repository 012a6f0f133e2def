// Who begins and advances the executions of a request: the program, or what goes on beside it for a stream.
#include "collectives/execution_request.hpp"

#include <exception>
#include <ostream>

#include "base/setting.hpp"
#include "execute/progress_thread.hpp"
#include "memory/device/device_memory.hpp"
#include "mpi/environment.hpp"

namespace vicinal {

namespace {

/// Not where the driver fails at that, too.
bool is_surely_captured(MemoryKind& kind, std::uintptr_t stream) {
  try {
    return kind.is_captured(stream);
  } catch (const std::exception&) {
    return false;
  }
}

}  // namespace

bool ExecutionRequest::in_flight() const {
  if (!is_streamed()) return executions_->in_flight();
  // What the user of a persistent request has yet to be told of; of another's, the next start tells.
  const bool tells = ownership() == Ownership::persistent && streamed_->has_fault();
  return tells || streamed_->in_flight();
}

void ExecutionRequest::start_at_fault() {
  try {
    if (is_streamed()) streamed_->finish();
  } catch (...) {
    // There is another one to report.
  }
  executions().start_at_fault();
}

void ExecutionRequest::end() noexcept {
  if (streamed_ && mpi::is_forked()) {
    // Another thread's claim would last for ever, and the words are the parent's.
    new std::shared_ptr<StreamedExecutions>(std::move(streamed_));
  }
  if (streamed_) {
    streamed_->end();
    streamed_.reset();
    // The list of what is active shares it until it is next gone through.
    if (active_count() > 0) progress();
  }
  executions_.reset();
}

void ExecutionRequest::start() {
  mpi::check_usable();
  const Starting starting(starting_);
  require(
      !starting.was_disturbed(), Fault::request,
      "another thread was starting this request at the same time; start it from one thread, once "
      "for each wait");
  if (is_streamed()) {
    require(!streamed_->is_captured(), Fault::request,
            "a request was started that is part of a graph; launch the graph, or make another one");
    try {
      // What a stream waits for, which nobody has seen the end of.
      if (!streamed_->in_flight()) streamed_->finish();
    } catch (...) {
      executions().start_at_fault();
      throw;
    }
  }
  require(!in_flight(), Fault::request,
          "a request was started again before its last execution was complete; test or wait first");
  begin();
}

void ExecutionRequest::start_from(std::uintptr_t stream) {
  mpi::check_usable();
  require(ownership() == Ownership::persistent, Fault::request,
          "a stream was to start a request that is not persistent");
  // One that has failed is over; who is to be told of that is so once this has begun, for which others may wait.
  const bool in_the_way = is_streamed() ? streamed_->in_flight() : executions_->in_flight();
  require(
      !in_the_way, Fault::request,
      "a stream was to start a request again before the end of its last execution was waited for");
  MemoryKind* const there = kind_there();
  MemoryKind* const kind = there != nullptr ? there : device::first_used();
  require(kind != nullptr, Fault::unsupported,
          "a stream was to start a request, but this process uses no GPU");
  try {
    require(
        can_stream(*kind), Fault::unsupported, "a stream was to start a request. ",
        "That needs MPI_THREAD_MULTIPLE, with which a thread begins what the stream asks for, a "
        "CUDA driver of version 11.7 or later, and kernels; VICINAL_LOG=info says why there are "
        "none");
    streamed_->begin_from(stream);
  } catch (...) {
    const Fault fault = current_fault().fault();
    const bool is_the_users = fault == Fault::request || fault == Fault::unsupported;
    if (!is_the_users && !is_surely_captured(*kind, stream)) count_at_fault();
    throw;
  }
  see_to_streams();
  // That of an execution before, which others know nothing of.
  if (streamed_->is_captured()) return;
  if (const std::exception_ptr fault = streamed_->take_fault()) std::rethrow_exception(fault);
}

/// The driver has failed, and others may wait for this start.
void ExecutionRequest::count_at_fault() {
  if (!streamed_) {
    run_progress_thread();
    executions_->start_at_fault();
  } else if (!streamed_->is_captured()) {
    streamed_->begin_at_fault();
    see_to_streams();
  }
}

/// Whatever progresses sees to it from now on, the end of MPI among that; what a graph may begin at any time is not waited for.
void ExecutionRequest::see_to_streams() {
  if (streamed_->is_captured()) {
    activate(streamed_);
  } else if (!streamed_->listed()) {
    activate_to_the_end(streamed_);
  }
  wake_progress_thread();
}

void ExecutionRequest::name_awaited(std::ostream& out) const {
  if (is_streamed()) {
    streamed_->name_awaited(out);
  } else {
    executions_->name_awaited(out);
  }
}

MemoryKind* ExecutionRequest::kind_there() const {
  const Places at = places();
  for (const std::byte* const place : {at.source, at.target}) {
    if (MemoryKind* const kind = kind_out_of_reach(place)) return kind;
  }
  return nullptr;
}

bool ExecutionRequest::can_stream(MemoryKind& kind) {
  if (!streamed_) {
    auto gate = kind.prepare_gate();
    if (gate == nullptr) return false;
    streamed_ =
        std::make_shared<StreamedExecutions>(static_cast<StreamedOwner&>(*this), std::move(gate));
  }
  return run_progress_thread();
}

bool ExecutionRequest::advance() { return is_streamed() ? streamed_->test() : advance_execution(); }

bool ExecutionRequest::advance_execution() {
  if (!executions_->advance()) return false;
  take();
  return true;
}

void ExecutionRequest::finish() {
  if (is_streamed()) return streamed_->finish();
  executions_->wait();
  take();
}

bool ExecutionRequest::is_among_first_ends() {
  if (first_ends_ < 0) {
    first_ends_ = read_whole_number(process_value("vicinal_stream_after")).value_or(0);
  }
  if (first_ends_ == 0) return false;
  --first_ends_;
  return true;
}

void ExecutionRequest::finish_on(std::uintptr_t stream) {
  const bool has_process_wait = is_among_first_ends();
  if (is_streamed()) {
    // Of a graph nobody knows when it is launched.
    const bool can_wait =
        !has_process_wait || streamed_->is_captured() || streamed_->is_capturing(stream);
    if (!can_wait || !streamed_->end_on(stream)) streamed_->finish();
    return;
  }
  MemoryKind* const kind = kind_there();
  if (kind != nullptr) {
    require(
        !kind->is_captured(stream), Fault::request,
        "an exchange that the process has started was to be waited for by a stream that is being "
        "captured into a graph; only a persistent request can be part of one, started by "
        "vicinal_start_on_stream");
    if (executions_->advance_or_leave(stream)) return take();
    if (!has_process_wait && can_be_left() && can_stream(*kind) && streamed_->take_over(stream)) {
      return see_to_streams();
    }
  }
  executions_->wait_on(stream);
  take();
}

}  // namespace vicinal
