// Executes persistent exchanges, or calls, for valgrind to count (tools/count_path.py). One rank is
// its own neighbor, so that no rank waits. Between executions other data passes through the caches,
// as with other ranks on the core.
#include <mpi.h>

#include <array>
#include <cstdlib>
#include <cstring>
#include <string_view>

#include "ratchet/library.hpp"

namespace {

/// Larger than the cache that valgrind simulates.
std::array<char, 1 << 20> other_data;

constexpr int self = 0, one = 8, at = 0;
std::array<double, one> out{}, in{};

void execute(const bench::Library& library, vicinal_graph graph, vicinal_request* request) {
  if (request != nullptr) {
    library.check(library.start(request));
    library.check(library.wait(request));
  } else {
    library.check(library.neighbor_alltoallv(out.data(), &one, &at, MPI_DOUBLE, in.data(), &one,
                                             &at, MPI_DOUBLE, graph));
  }
}

}  // namespace

/// Valgrind counts this function only.
extern "C" [[gnu::noinline]] void counted(const bench::Library& library, vicinal_graph graph,
                                          vicinal_request* request) {
  execute(library, graph, request);
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  if (argc != 5) MPI_Abort(MPI_COMM_WORLD, 2);
  const bench::Library library(argv[1]);
  const int warm = std::atoi(argv[3]), executions = std::atoi(argv[4]);
  vicinal_graph graph = nullptr;
  library.check(library.graph_create_adjacent(MPI_COMM_WORLD, 1, &self, nullptr, 1, &self, nullptr,
                                              MPI_INFO_NULL, 0, &graph));
  vicinal_request made = nullptr;
  library.check(library.neighbor_alltoallv_init(out.data(), &one, &at, MPI_DOUBLE, in.data(), &one,
                                                &at, MPI_DOUBLE, graph, MPI_INFO_NULL, &made));
  vicinal_request* const request = std::string_view(argv[2]) == "call" ? nullptr : &made;
  for (int i = 0; i < warm; ++i) execute(library, graph, request);
  for (int i = 0; i < executions; ++i) {
    std::memset(other_data.data(), i, other_data.size());
    counted(library, graph, request);
  }
  library.check(library.request_free(&made));
  library.check(library.graph_free(&graph));
  MPI_Finalize();
}
