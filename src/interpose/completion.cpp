// How programs begin and end MPI, and what they do with requests. Those of vicinal's are real ones, which MPI tests and waits
// for together with others while it calls us from inside its progress (execute/activity.hpp); so most functions
// need not know of them. Waiting for one is done here first because vicinal waits better: it polls what is due, and
// gives the core to others.
#include <mpi.h>

#include <array>
#include <atomic>
#include <optional>
#include <span>

#include "interpose/ledger.hpp"
#include "interpose/own.hpp"
#include "interpose/tokens.hpp"
#include "mpi/backoff.hpp"
#include "mpi/communicator.hpp"
#include "mpi/environment.hpp"
#include "mpi/info.hpp"
#include "mpi/own_progress.hpp"

namespace vicinal::interpose {
namespace {

void wait_for_token(MPI_Request request) {
  if (request == MPI_REQUEST_NULL) return;
  if (const auto token = token_behind(request)) {
    const mpi::Inside inside;
    token->finish();
  }
}

int start(MPI_Request* request) {
  const int code = own<&start>(request);
  if (code != MPI_SUCCESS) return code;
  const auto token = token_behind(*request);
  return token != nullptr && token->is_persistent() ? token->start() : MPI_SUCCESS;
}

int startall(int count, MPI_Request* requests) {
  int code = own<&startall>(count, requests);
  if (code != MPI_SUCCESS) return code;
  for (int i = 0; i < count; ++i) {
    const auto token = token_behind(requests[i]);
    if (token == nullptr || !token->is_persistent()) continue;
    const int of_this = token->start();
    if (code == MPI_SUCCESS) code = of_this;
  }
  return code;
}

int request_free(MPI_Request* request) {
  if (request != nullptr && *request != MPI_REQUEST_NULL) {
    const mpi::Inside inside;
    forget_token(*request);
  }
  return own<&request_free>(request);
}

int wait(MPI_Request* request, MPI_Status* status) {
  if (request != nullptr) wait_for_token(*request);
  return own<&wait>(request, status);
}

int waitall(int count, MPI_Request* requests, MPI_Status* statuses) {
  if (requests != nullptr) {
    for (int i = 0; i < count; ++i) wait_for_token(requests[i]);
  }
  return own<&waitall>(count, requests, statuses);
}

std::atomic_flag ended;

void end_program() {
  if (ended.test_and_set()) return;
  write_report();
  // MPI may end only when no thread of ours is inside: see mpi/finalize.cpp.
  mpi::stop_threads_hook();
}

int init_thread(int* argc, char*** argv, int required, int* provided) {
  // Where MPI does not bring on what we have begun, a thread of ours does.
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

/// Another library that has put itself before MPI calls this one from its own MPI_Finalize.
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

// What the library itself calls of these (cmake/call_pmpi.cmake).
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
