// The functions by which programs begin and end MPI, and handle requests. Vicinal's requests are
// generalized requests of MPI. MPI tests them, and waits for them together with others, while it
// calls vicinal from inside its progress (progress/activity.hpp). So most functions need not know
// of them. A wait for one of them begins here, since vicinal polls what is due and yields the core.
#include <mpi.h>

#include <array>
#include <atomic>
#include <optional>
#include <span>

#include "interpose/call_profile.hpp"
#include "interpose/generalized_requests.hpp"
#include "interpose/own.hpp"
#include "mpi/backoff.hpp"
#include "mpi/communicator.hpp"
#include "mpi/environment.hpp"
#include "mpi/info.hpp"
#include "mpi/own_progress.hpp"

namespace vicinal::interpose {
namespace {

void wait_for_generalized_request(MPI_Request request) {
  if (request == MPI_REQUEST_NULL) return;
  if (const auto its = generalized_request_behind(request)) {
    const mpi::Inside inside;
    its->finish();
  }
}

int start(MPI_Request* request) {
  const int code = own<&start>(request);
  if (code != MPI_SUCCESS) return code;
  const auto its = generalized_request_behind(*request);
  return its != nullptr && its->is_persistent() ? its->start() : MPI_SUCCESS;
}

int startall(int count, MPI_Request* requests) {
  int code = own<&startall>(count, requests);
  if (code != MPI_SUCCESS) return code;
  for (int i = 0; i < count; ++i) {
    const auto its = generalized_request_behind(requests[i]);
    if (its == nullptr || !its->is_persistent()) continue;
    const int of_this = its->start();
    if (code == MPI_SUCCESS) code = of_this;
  }
  return code;
}

int request_free(MPI_Request* request) {
  if (request != nullptr && *request != MPI_REQUEST_NULL) {
    const mpi::Inside inside;
    forget_generalized_request(*request);
  }
  return own<&request_free>(request);
}

int wait(MPI_Request* request, MPI_Status* status) {
  if (request != nullptr) wait_for_generalized_request(*request);
  return own<&wait>(request, status);
}

int waitall(int count, MPI_Request* requests, MPI_Status* statuses) {
  if (requests != nullptr) {
    for (int i = 0; i < count; ++i) wait_for_generalized_request(requests[i]);
  }
  return own<&waitall>(count, requests, statuses);
}

std::atomic_flag ended;

void end_program() {
  if (ended.test_and_set()) return;
  write_report();
  // MPI may end only when no thread of the library is inside it: see mpi/finalize.cpp.
  mpi::stop_threads_hook();
}

int init_thread(int* argc, char*** argv, int required, int* provided) {
  // If MPI does not call vicinal from its progress, a thread of the library makes progress.
  const bool needs_thread = !mpi::may_call_from_progress();
  return own<&init_thread>(argc, argv, needs_thread ? MPI_THREAD_MULTIPLE : required, provided);
}

int init(int* argc, char*** argv) {
  if (mpi::may_call_from_progress()) return own<&init>(argc, argv);
  int provided = MPI_THREAD_SINGLE;
  return own<&init_thread>(argc, argv, MPI_THREAD_MULTIPLE, &provided);
}

#ifdef MPI_SESSION_NULL
int session_init(MPI_Info info, MPI_Errhandler handler, MPI_Session* session) {
  std::optional<mpi::ChangedInfo> with_threads;
  if (!mpi::may_call_from_progress()) {
    info = with_threads.emplace(info, "thread_level", "MPI_THREAD_MULTIPLE").handle();
  }
  const int code = own<&session_init>(info, handler, session);
  if (code == MPI_SUCCESS) mpi::session_opened();
  return code;
}

int session_finalize(MPI_Session* session) {
  if (!ended.test()) write_report();
  mpi::Communicator::end_session();
  return own<&session_finalize>(session);
}
#endif

int finalize() {
  end_program();
  return own<&finalize>();
}

/// Called by another library that has put itself before MPI, from its own MPI_Finalize.
int finalize_of_mpi() {
  end_program();
  return own<&finalize_of_mpi>();
}

}  // namespace

std::span<const Row> completion() {
  static const std::array rows = {
      row<&init>("Init"),
      row<&init_thread>("Init_thread"),
      row<&start>("Start"),
      row<&startall>("Startall"),
      row<&request_free>("Request_free"),
      row<&wait>("Wait"),
      row<&waitall>("Waitall"),
#ifdef MPI_SESSION_NULL
      row<&session_init>("Session_init"),
      row<&session_finalize>("Session_finalize"),
#endif
      row<&finalize>("MPI_Finalize"),
      row<&finalize_of_mpi>("PMPI_Finalize"),
  };
  return rows;
}

}  // namespace vicinal::interpose

// MPI's own functions, for calls by the library itself (cmake/call_pmpi.cmake).
extern "C" {

int vicinal_own_Start(MPI_Request* request) {
  return vicinal::interpose::own<&vicinal::interpose::start>(request);
}
int vicinal_own_Startall(int count, MPI_Request* requests) {
  return vicinal::interpose::own<&vicinal::interpose::startall>(count, requests);
}
int vicinal_own_Request_free(MPI_Request* request) {
  return vicinal::interpose::own<&vicinal::interpose::request_free>(request);
}
int vicinal_own_Wait(MPI_Request* request, MPI_Status* status) {
  return vicinal::interpose::own<&vicinal::interpose::wait>(request, status);
}
}
