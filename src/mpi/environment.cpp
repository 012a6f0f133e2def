// Questions to MPI that may be asked at any time, before MPI_Init and after MPI_Finalize too.
#include "mpi/environment.hpp"

#include <dlfcn.h>
#include <pthread.h>

#include <array>
#include <atomic>
#include <string_view>

namespace vicinal::mpi {
namespace {

std::atomic<bool> forked = false;

}  // namespace

void claim_process() {
  // Not before MPI is used: a process may load the library, fork, and leave MPI to its children.
  [[maybe_unused]] static const int registered =
      pthread_atfork(nullptr, nullptr, [] { forked.store(true, std::memory_order_relaxed); });
}

bool is_forked() noexcept { return forked.load(std::memory_order_relaxed); }

bool is_initialized() {
  int flag = 0;
  MPI_Initialized(&flag);
  return flag != 0;
}

bool is_finalized() {
  int flag = 0;
  MPI_Finalized(&flag);
  return flag != 0;
}

bool thread_multiple() {
  if (!is_alive()) return false;
  int provided = MPI_THREAD_SINGLE;
  MPI_Query_thread(&provided);
  return provided == MPI_THREAD_MULTIPLE;
}

bool thread_may_call() {
  if (!is_alive()) return false;
  int provided = MPI_THREAD_SINGLE, main = 0;
  MPI_Query_thread(&provided);
  if (provided == MPI_THREAD_MULTIPLE) return true;
  MPI_Is_thread_main(&main);
  return provided != MPI_THREAD_SERIALIZED && main != 0;
}

std::string library_version() {
  std::array<char, MPI_MAX_LIBRARY_VERSION_STRING> text{};
  int length = 0;
  MPI_Get_library_version(text.data(), &length);
  const std::string_view all(text.data(), static_cast<std::size_t>(length));
  std::string line(all.substr(0, all.find_first_of(",\n")));
  for (char& letter : line) {
    if (letter == '\t') letter = ' ';
  }
  return line;
}

void* find_symbol(const char* name) { return dlsym(RTLD_DEFAULT, name); }

}  // namespace vicinal::mpi
