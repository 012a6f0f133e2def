// The public interface of a library that is loaded at run time, so that one process can hold two
// builds.
#pragma once

#include <dlfcn.h>
#include <mpi.h>
#include <vicinal/vicinal.h>

#include <cstdio>
#include <string>

namespace bench {

#define VICINAL_BENCH_FUNCTIONS(X) \
  X(graph_create_adjacent)         \
  X(graph_free)                    \
  X(get_regions)                   \
  X(neighbor_alltoallv)            \
  X(ineighbor_alltoallv)           \
  X(neighbor_alltoallv_init)       \
  X(neighbor_alltoallv_items_init) \
  X(allgather)                     \
  X(allgather_init)                \
  X(sparse_alltoallv)              \
  X(received_get)                  \
  X(received_free)                 \
  X(start)                         \
  X(wait)                          \
  X(request_free)                  \
  X(error_message)

class Library {
 public:
  explicit Library(const std::string& path) : handle_(dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL)) {
    if (handle_ == nullptr) end(dlerror());
#define VICINAL_BENCH_FIND(name) find(#name, name);
    VICINAL_BENCH_FUNCTIONS(VICINAL_BENCH_FIND)
#undef VICINAL_BENCH_FIND
  }

#define VICINAL_BENCH_MEMBER(name) decltype(&vicinal_##name) name = nullptr;
  VICINAL_BENCH_FUNCTIONS(VICINAL_BENCH_MEMBER)
#undef VICINAL_BENCH_MEMBER

  /// Ends all ranks if a call failed.
  void check(int code) const {
    if (code != MPI_SUCCESS) end(error_message());
  }

 private:
  template <class Function>
  void find(const char* name, Function& function) {
    const std::string symbol = std::string("vicinal_") + name;
    function = reinterpret_cast<Function>(dlsym(handle_, symbol.c_str()));
    if (function == nullptr) end(dlerror());
  }
  [[noreturn]] static void end(const char* why) {
    std::fprintf(stderr, "ratchet: %s\n", why != nullptr ? why : "a call failed");
    MPI_Abort(MPI_COMM_WORLD, 1);
    std::abort();
  }

  void* handle_ = nullptr;
};

}  // namespace bench
