// Tests requests, and waits for them.
#include "collectives/request.hpp"

#include <ostream>

#include "mpi/backoff.hpp"
#include "mpi/environment.hpp"
#include "progress/activity.hpp"

namespace vicinal {

namespace {

[[noreturn]] void refuse_partitions() {
  fail(Fault::request,
       "the request has no partitions; make it by vicinal_neighbor_alltoallv_partitioned_init");
}

}  // namespace

std::uintptr_t Request::handle() {
  if (!handle_) handle_.emplace(HandleKind::request, this);
  return handle_->number();
}

void Request::mark_ready(int, int, int) { refuse_partitions(); }
bool Request::has_arrived(int, int) { refuse_partitions(); }

bool Request::test() {
  const bool over = look();
  if (!over) mpi::Backoff::yield_core();
  return over;
}

bool Request::look() {
  const bool over = poll();
  // Also after the end: the list of active calls would fill otherwise.
  if (!over || active_count() > 0) progress();
  return over;
}

bool Request::poll() {
  if (!in_flight()) return true;
  mpi::check_usable();
  return advance();
}

void Request::wait() {
  if (!in_flight()) return;
  mpi::check_usable();
  finish();
}

void Request::wait_on(std::uintptr_t stream) {
  if (!in_flight()) return;
  mpi::check_usable();
  finish_on(stream);
}

Found wait_any(std::span<Request* const> requests) {
  const auto reason = [&](std::ostream& out) {
    out << "any of these:";
    for (const Request* request : requests) {
      if (request == nullptr || !request->in_flight()) continue;
      out << ' ';
      request->name_awaited(out);
      out << ';';
    }
    out << " nothing else";
  };
  mpi::Wait wait(reason);
  while (true) {
    bool any = false;
    for (std::size_t i = 0; i < requests.size(); ++i) {
      Request* request = requests[i];
      if (request == nullptr || !request->in_flight()) continue;
      any = true;
      const int position = static_cast<int>(i);
      try {
        if (request->look()) return {position, nullptr};
      } catch (...) {
        return {position, std::current_exception()};
      }
    }
    if (!any) return {};
    progress();
    wait.pause();
  }
}

}  // namespace vicinal
