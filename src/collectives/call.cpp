// The life of a call, from the queue to its completion.
#include "collectives/call.hpp"

#include <ostream>

#include "mpi/environment.hpp"

namespace vicinal {

void Call::enter(const std::shared_ptr<Call>& call, Driver driver) {
  const ActivityLock lock(*call);
  if (call->advance() || driver == Driver::caller) return;
  call->enter_dump();
  if (call->stage_ == Stage::queued || call->wants_progress()) activate(call);
}

void Call::await_data() noexcept {
  for (bool waits = true; waits && stage_.load(std::memory_order_relaxed) == Stage::queued;) {
    {
      const ActivityLock lock(*this);
      const Fetch fetch = look_at_fetch();
      if (fetch == Fetch::nothing) return;
      waits = fetch == Fetch::in_progress;
      advance();
    }
    // The GPU may be busy for long, and other ranks may need progress of this rank meanwhile.
    if (waits) progress();
  }
}

bool Call::advance(Polls polls) noexcept {
  try {
    if (stage_ == Stage::queued) {
      if (after_ && !after_->over()) return false;
      if (!may_begin()) return false;
      after_.reset();
      begin();
      has_tags_.store(holds_tags(), std::memory_order_relaxed);
      // From here on another thread may begin a call with the same tags, unless this call still
      // holds them.
      stage_ = Stage::running;
    }
    if (stage_ == Stage::running && poll(polls)) stage_ = Stage::over;
    if (has_tags_.load(std::memory_order_relaxed)) {
      has_tags_.store(holds_tags(), std::memory_order_release);
    }
  } catch (...) {
    fault_ = std::current_exception();
    after_.reset();
    stage_ = Stage::over;
  }
  return stage_ == Stage::over;
}

void Call::describe(std::ostream& out) const {
  if (stage_ == Stage::over) return;
  out << "vicinal: " << mpi::name_of_rank() << ": a call that "
      << (has_begun() ? "has begun" : "has not begun") << " waits for ";
  write_awaited(out);
  out << "\n";
}

void Call::name_awaited(std::ostream& out) {
  if (const ReportLock lock(*this); lock) {
    write_awaited(out);
  } else {
    out << "a call on which another thread works";
  }
}

void Call::write_awaited(std::ostream& out) const {
  if (after_ && !after_->over()) out << "an earlier call of its kind, and then for ";
  name_what_is_due(out);
}

void Call::finish() {
  const auto reason = [this](std::ostream& out) { name_awaited(out); };
  wait_for(
      [this](Polls polls) {
        if (over()) return true;
        {
          const ActivityLock lock(*this);
          if (advance(polls)) return true;
        }
        enter_dump();  // late, since most calls are over before a dump could ask
        return false;
      },
      [this] { return listed(); }, reason);
  // This pass removes the call from the active list, which calls that complete at once would
  // otherwise fill.
  if (listed()) progress();
}

CallRequest::~CallRequest() {
  try {
    if (in_flight() && mpi::is_alive()) wait();
  } catch (const std::exception&) {
    // The user has freed the request without waiting, so nobody receives the error.
  }
}

void CallRequest::start() {
  fail(Fault::request, "the request of a nonblocking call was started; it has begun with the call");
}

bool CallRequest::advance() {
  if (call_ != nullptr && !call_->over()) {
    const ActivityLock lock(*call_);
    if (!call_->advance()) return false;
  }
  in_flight_.store(false, std::memory_order_relaxed);
  if (call_ != nullptr && call_->fault()) std::rethrow_exception(call_->fault());
  return true;
}

void CallRequest::name_awaited(std::ostream& out) const {
  if (call_ != nullptr) call_->name_awaited(out);
}

void CallRequest::finish() {
  if (call_ != nullptr) call_->finish();
  advance();
}

}  // namespace vicinal
