// The C interface: requests and progress.
#include <algorithm>
#include <iostream>
#include <utility>

#include "api/arguments.hpp"
#include "api/shared.hpp"
#include "memory/device/device_memory.hpp"
#include "progress/dump.hpp"

namespace {

using namespace vicinal::c_api;
using vicinal::Fault;
using vicinal::Ownership;
using vicinal::Request;
using vicinal::require;

/// Returns the communicator whose error handler receives the errors of a list of requests: that of
/// the first request.
MPI_Comm first_error_communicator(int count, const vicinal_request requests[]) {
  if (requests == nullptr) return MPI_COMM_NULL;
  for (int i = 0; i < count; ++i) {
    if (requests[i] != nullptr) return error_communicator_of(requests[i]);
  }
  return MPI_COMM_NULL;
}

/// Runs `one` on each of a list of requests, until it fails on one.
template <class One>
int for_each(int count, vicinal_request requests[], One one) noexcept {
  const int refused = guarded(first_error_communicator(count, requests),
                              [&] { check_list(requests, count, "requests"); });
  if (refused != MPI_SUCCESS) return refused;
  for (int i = 0; i < count; ++i) {
    const int code = one(&requests[i]);
    if (code != MPI_SUCCESS) return code;
  }
  return MPI_SUCCESS;
}

/// Runs `body` on the request of a handle, or on null for a null handle. Looks the handle up once.
template <class Body>
int on_request(vicinal_request* request, Body body) noexcept {
  Request* const its = request == nullptr ? nullptr : find(*request);
  return guarded(its == nullptr ? MPI_COMM_NULL : its->error_communicator(), [&] {
    require_handle(request, "pointer to a request");
    require_alive(*request, its);
    body(its);
  });
}

/// Frees or changes the handle of a request that is complete.
void settle(vicinal_request* request, Request* its) {
  if (its->ownership() == Ownership::persistent) return;
  if (its->ownership() == Ownership::single_use) {
    delete its;
  } else {
    its->renew_handle();
  }
  *request = VICINAL_REQUEST_NULL;
}

/// Runs `advance` on a handle's request, and returns whether it is complete. A request that fails
/// is complete, unless it is still in flight.
template <class Advance>
bool advance_and_settle(vicinal_request* request, Request* its, Advance advance) {
  if (its == nullptr) return true;
  bool done = true;
  try {
    done = advance(*its);
  } catch (...) {
    if (!its->in_flight()) settle(request, its);
    throw;
  }
  if (done) settle(request, its);
  return done;
}

/// As above, for a function that waits until the request is complete.
template <class Wait>
int wait_by(vicinal_request* request, Wait wait) noexcept {
  return on_request(request, [&](Request* its) {
    advance_and_settle(request, its, [&](Request& it) {
      wait(it);
      return true;
    });
  });
}

}  // namespace

extern "C" {

int vicinal_start(vicinal_request* request) {
  return on_request(request, [](Request* its) {
    require(its != nullptr, Fault::request, "a null request was started");
    its->start();
  });
}

int vicinal_startall(int count, vicinal_request requests[]) {
  return for_each(count, requests, vicinal_start);
}

int vicinal_test(vicinal_request* request, int* flag) {
  return on_request(request, [&](Request* its) {
    require_handle(flag, "flag");
    *flag = advance_and_settle(request, its, [](Request& it) { return it.test(); }) ? 1 : 0;
  });
}

int vicinal_wait(vicinal_request* request) {
  return wait_by(request, [](Request& it) { it.wait(); });
}

int vicinal_wait_on_stream(vicinal_request* request, void* stream) {
  return wait_by(request,
                 [stream](Request& it) { it.wait_on(reinterpret_cast<std::uintptr_t>(stream)); });
}

int vicinal_waitall(int count, vicinal_request requests[]) {
  return for_each(count, requests, vicinal_wait);
}

int vicinal_waitany(int count, vicinal_request requests[], int* index) {
  vicinal::Found found;
  const int refused = guarded(first_error_communicator(count, requests), [&] {
    require_handle(index, "index");
    check_list(requests, count, "requests");
    std::vector<Request*> objects(static_cast<std::size_t>(count));
    std::transform(requests, requests + count, objects.begin(), object<vicinal_request>);
    found = vicinal::wait_any(objects);
  });
  if (refused != MPI_SUCCESS) return refused;
  *index = found.position >= 0 ? found.position : MPI_UNDEFINED;
  if (found.position < 0) return MPI_SUCCESS;
  const MPI_Comm handled_on = error_communicator_of(requests[found.position]);
  settle(&requests[found.position], object(requests[found.position]));
  if (!found.fault) return MPI_SUCCESS;
  return guarded(handled_on, [&] { std::rethrow_exception(found.fault); });
}

int vicinal_request_free(vicinal_request* request) {
  return guarded(request == nullptr ? MPI_COMM_NULL : error_communicator_of(*request), [&] {
    require_handle(request, "pointer to a request");
    if (*request == nullptr) return;
    require(object(*request)->ownership() != Ownership::borrowed, Fault::request,
            "a request of a halo was to be freed; wait for it instead, it belongs to the halo");
    delete object(*request);
    *request = VICINAL_REQUEST_NULL;
  });
}

int vicinal_progress(void) {
  vicinal::progress();
  return MPI_SUCCESS;
}

int vicinal_follow_stream(const void* buffer, void* stream) {
  return guarded(MPI_COMM_NULL, [&] {
    vicinal::device::follow_stream(buffer, reinterpret_cast<std::uintptr_t>(stream));
  });
}

int vicinal_dump(void) {
  return guarded(MPI_COMM_NULL, [] { vicinal::describe_pending(std::cerr); });
}

}  // extern "C"
