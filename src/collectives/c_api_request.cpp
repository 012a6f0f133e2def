// The C interface: requests and progress.
#include <algorithm>
#include <iostream>
#include <utility>

#include "collectives/c_api_shared.hpp"
#include "execute/activity.hpp"

namespace {

using namespace vicinal::c_api;
using vicinal::Fault;
using vicinal::Ownership;
using vicinal::Request;
using vicinal::require;

/// What becomes of a handle once its request is complete.
void settle(vicinal_request* request) {
  const Ownership ownership = object(*request)->ownership();
  if (ownership == Ownership::persistent) return;
  if (ownership == Ownership::single_use) delete object(*request);
  *request = VICINAL_REQUEST_NULL;
}

/// Runs `advance`, which is true on completion, on the handle's request. One that fails is complete.
template <class Advance>
bool advance_and_settle(vicinal_request* request, Advance advance) {
  if (*request == nullptr) return true;
  bool done = true;
  try {
    done = advance(*object(*request));
  } catch (...) {
    settle(request);
    throw;
  }
  if (done) settle(request);
  return done;
}

}  // namespace

extern "C" {

int vicinal_start(vicinal_request* request) {
  return guarded(request == nullptr ? MPI_COMM_NULL : user_of(*request), [&] {
    require_handle(request, "pointer to a request");
    require(*request != nullptr, Fault::request, "a null request was started");
    object(*request)->start();
  });
}

int vicinal_startall(int count, vicinal_request requests[]) {
  for (int i = 0; i < count; ++i) {
    const int code = vicinal_start(&requests[i]);
    if (code != MPI_SUCCESS) return code;
  }
  return MPI_SUCCESS;
}

int vicinal_test(vicinal_request* request, int* flag) {
  return guarded(request == nullptr ? MPI_COMM_NULL : user_of(*request), [&] {
    require_handle(request, "pointer to a request");
    require_handle(flag, "flag");
    const auto test = [](Request& it) { return it.test(); };
    *flag = advance_and_settle(request, test) ? 1 : 0;
  });
}

int vicinal_wait(vicinal_request* request) {
  return guarded(request == nullptr ? MPI_COMM_NULL : user_of(*request), [&] {
    require_handle(request, "pointer to a request");
    advance_and_settle(request, [](Request& it) {
      it.wait();
      return true;
    });
  });
}

int vicinal_waitall(int count, vicinal_request requests[]) {
  for (int i = 0; i < count; ++i) {
    const int code = vicinal_wait(&requests[i]);
    if (code != MPI_SUCCESS) return code;
  }
  return MPI_SUCCESS;
}

int vicinal_waitany(int count, vicinal_request requests[], int* index) {
  return guarded(count > 0 && requests != nullptr ? user_of(requests[0]) : MPI_COMM_NULL, [&] {
    require_handle(index, "index");
    const std::vector<vicinal_request> handles = list(requests, count, "requests");
    std::vector<Request*> objects(handles.size());
    std::transform(handles.begin(), handles.end(), objects.begin(), object);
    const int found = vicinal::wait_any(objects);
    if (found >= 0) settle(&requests[found]);
    *index = found >= 0 ? found : MPI_UNDEFINED;
  });
}

int vicinal_request_free(vicinal_request* request) {
  return guarded(request == nullptr ? MPI_COMM_NULL : user_of(*request), [&] {
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

int vicinal_dump(void) {
  return guarded(MPI_COMM_NULL, [] { vicinal::describe_pending(std::cerr); });
}

}  // extern "C"
