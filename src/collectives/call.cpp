// A call's way from the queue to its end.
#include "collectives/call.hpp"

#include <ostream>

#include "mpi/environment.hpp"

namespace vicinal {

void Call::enter(const std::shared_ptr<Call>& call, Driver driver) {
  const Claim claim(*call);
  if (call->advance() || driver == Driver::caller) return;
  call->enter_dump();
  if (call->stage_ == Stage::queued || call->wants_progress()) activate(call);
}

void Call::await_data() noexcept {
  for (bool waits = true; waits && stage_.load(std::memory_order_relaxed) == Stage::queued;) {
    {
      const Claim claim(*this);
      const Fetch fetch = look_at_fetch();
      if (fetch == Fetch::nothing) return;
      waits = fetch == Fetch::under_way;
      advance();
    }
    // The GPU may be busy for long, and others may need this rank meanwhile.
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
      // On another thread, a call with the same tags may begin from here on, unless it has them still.
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
  if (const ReportClaim claim(*this); claim) {
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
          const Claim claim(*this);
          if (advance(polls)) return true;
        }
        enter_dump();  // most are over before somebody could ask
        return false;
      },
      [this] { return listed(); }, reason);
  // Calls that always find their data there when they wait would fill the list.
  if (listed()) progress();
}

CallRequest::~CallRequest() {
  try {
    if (in_flight() && mpi::is_alive()) wait();
  } catch (const std::exception&) {
    // Whoever let go of the call without waiting does not want to hear of it.
  }
}

void CallRequest::start() {
  fail(Fault::request, "the request of a nonblocking call was started; it has begun with the call");
}

bool CallRequest::advance() {
  if (call_ != nullptr && !call_->over()) {
    const Claim claim(*call_);
    if (!call_->advance()) return false;
  }
  if (call_ != nullptr && call_->listed()) progress();
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
