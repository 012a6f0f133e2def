// Functions in which a program waits for another rank while MPI makes no progress, and so does not
// call vicinal (mpi/own_progress.hpp).
//
// Programs call some of them in a loop until another rank has done something. Not every MPI makes
// progress in each of these, least of all if there is nothing to wait for. So each call makes
// progress once. MPI_Win_wait is such a loop.
//
// Others wait inside the run-time system, PMIx. Open MPI does so where it starts or connects
// processes, and where it makes a communicator of a group. Here another thread calls PMIx, and
// calls nothing of MPI's, so any thread level works. The program's thread makes MPI's progress
// meanwhile.
#include <mpi.h>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <span>
#include <system_error>
#include <thread>
#include <utility>

#include "interpose/functions.h"
#include "interpose/own.hpp"
#include "mpi/backoff.hpp"
#include "mpi/own_progress.hpp"
#include "mpi/window.hpp"
#include "progress/activity.hpp"

namespace vicinal::interpose {
namespace {

template <std::size_t length>
struct Name {
  constexpr Name(const char (&name)[length]) { std::copy_n(name, length, text); }
  char text[length];
};

/// An argument of any function: the preload library passes each on as such a word.
using Word = long;

template <Name name, class... Words>
int polling(Words... arguments) {
  if (active_count() > 0) mpi::make_progress();
  return own<&polling<name, Words...>>(arguments...);
}

int win_wait(MPI_Win window) {
  if (active_count() == 0) return own<&win_wait>(window);
  mpi::Backoff backoff(mpi::Backoff::Naps::short_ones);
  while (true) {
    bool is_over = false;
    const int code = mpi::test_exposure(window, is_over);
    if (code != MPI_SUCCESS || is_over) return code;
    backoff.pause();
  }
}

template <Name name, class... Words>
int of_run_time(Words... arguments) {
  const auto call = own<&of_run_time<name, Words...>>;
  if (active_count() == 0) return call(arguments...);
  std::atomic<bool> is_over = false;
  int code = 0;
  std::thread thread;
  try {
    thread = std::thread([&] {
      code = call(arguments...);
      is_over.store(true, std::memory_order_release);
    });
  } catch (const std::system_error&) {
    return call(arguments...);
  }
  mpi::Backoff backoff(mpi::Backoff::Naps::short_ones);
  while (!is_over.load(std::memory_order_acquire)) {
    mpi::make_progress();
    backoff.pause();
  }
  thread.join();
  return code;
}

template <std::size_t>
using WordAt = Word;

template <Name name, std::size_t... at>
Row polling_row(std::index_sequence<at...>) {
  return row<&polling<name, WordAt<at>...>>(name.text);
}

template <Name name, std::size_t... at>
Row run_time_row(std::index_sequence<at...>) {
  return row<&of_run_time<name, WordAt<at>...>>(name.text);
}

}  // namespace

std::span<const Row> waiting() {
#define VICINAL_POLLING_ROW(name, arguments) \
  polling_row<#name>(std::make_index_sequence<arguments>()),
#define VICINAL_RUN_TIME_ROW(name, arguments) \
  run_time_row<#name>(std::make_index_sequence<arguments>()),
  static const Row rows[] = {VICINAL_POLLING_FUNCTIONS(VICINAL_POLLING_ROW)
                                 VICINAL_RUN_TIME_FUNCTIONS(VICINAL_RUN_TIME_ROW)
                                     row<&win_wait>("Win_wait")};
  return rows;
}

}  // namespace vicinal::interpose
