// User buffers that MPI cannot access, through the C interface: supported operations and refused
// ones.
#include <string>

#include "unreachable_exchanges.hpp"

namespace vicinal::unreachable_memory_tests {
namespace {

using namespace testing;

/// Exchanges a halo of device memory while driver call number `ahead` of rank 0 fails. Returns
/// whether rank 0 reached it. No rank is left waiting, and the halo remains usable.
bool exchange_with_a_failure(const DriverDouble& gpu, const char* strategy, long ahead) {
  const Duplicate comm;
  Mesh mesh(comm, strategy);
  const long held = gpu.held();
  bool came_to_it = false;
  {
    const auto owned = arrays_of(gpu.memory())(numbers(3, mesh.rank * 3));
    const auto into = arrays_of(gpu.memory())(repeated(mesh.ghosts(), untouched));
    const auto exchange = [&] {
      return vicinal_halo_exchange(mesh.halo, owned.data(), into.data(), 1, MPI_INT64_T);
    };
    const long at = gpu.get("calls") + ahead;
    if (mesh.rank == 0) gpu.set("fail_at", at);
    const int error = exchange();
    gpu.set("fail_at", 0);
    came_to_it = mesh.rank == 0 && gpu.get("calls") >= at;
    if (mesh.rank == 0 && error != MPI_SUCCESS) {
      CHECK(error == MPI_ERR_NO_MEM || error == MPI_ERR_OTHER);
      const std::string said = vicinal_error_message();
      CHECK(said.find(" has failed with ") != std::string::npos);
    } else if (error != MPI_SUCCESS) {
      CHECK_EQUAL(error, MPI_ERR_OTHER);
    }
    MPI_Barrier(comm);
    if (error == MPI_SUCCESS) CHECK(into.values() == mesh.needed);
    SUCCEEDS(exchange());
    CHECK(into.values() == mesh.needed);
  }
  CHECK_EQUAL(vicinal_halo_free(&mesh.halo), MPI_SUCCESS);
  // This releases the operations that a failed rank still had to perform for other ranks.
  settle(gpu, held);
  CHECK_EQUAL(gpu.get("misuses"), 0);
  MPI_Bcast(&came_to_it, 1, MPI_C_BOOL, 0, MPI_COMM_WORLD);
  return came_to_it;
}

}  // namespace

TEST(halos_of_delayed_memory) { exchange_halos(delayed_array); }

TEST(calls_on_delayed_memory) { exchange_by_calls(delayed_array); }

TEST(halos_of_device_memory) {
  for (const char* const path : {DRIVER_DOUBLE_CUDA, DRIVER_DOUBLE_HIP}) {
    const DriverDouble gpu(path);
    const long held = gpu.held();
    exchange_halos(arrays_of(gpu.memory()));
    settle(gpu, held);
    CHECK(gpu.get("launches") > 0);
    CHECK_EQUAL(gpu.get("misuses"), 0);
  }
}

TEST(halos_of_device_memory_without_kernels) {
  const DriverDouble gpu;
  gpu.set("no_compiler", 1);
  const long launches = gpu.get("launches");
  exchange_halos(arrays_of(gpu.memory()));
  CHECK_EQUAL(gpu.get("launches"), launches);
  CHECK_EQUAL(gpu.get("misuses"), 0);
}

TEST(calls_on_device_memory) {
  const DriverDouble gpu;
  exchange_by_calls(arrays_of(gpu.memory()));
  CHECK_EQUAL(gpu.get("misuses"), 0);
}

TEST(exchanges_of_the_gpu_of_this_machine) {
  MemoryKind& memory = memory_of_a_gpu();
  exchange_halos(arrays_of(memory));
  exchange_by_calls(arrays_of(memory));
}

TEST(a_driver_that_fails_at_any_call_leaves_nobody_waiting) {
  const DriverDouble gpu;
  for (const char* const transport : {"staged", "shared"}) {
    const Variable by("VICINAL_DEVICE_WAY", transport);
    for (const char* const strategy : {"direct", "aggregate"}) {
      long ahead = 1;
      while (exchange_with_a_failure(gpu, strategy, ahead)) ++ahead;
      CHECK(ahead > 10);
    }
  }
}

TEST(what_cannot_be_done_with_delayed_memory_is_refused) {
  const Duplicate comm;
  const int rank = world_rank(), size = world_size();
  const GraphHandle graph =
      graph_of(comm, {(rank + size - 1) % size}, {(rank + 1) % size}, few_regions(size));
  const DelayedArray send(numbers(8, rank)), receive(repeated(8, untouched));
  MPI_Datatype gaps = MPI_DATATYPE_NULL;
  MPI_Type_vector(2, 1, 2, MPI_INT64_T, &gaps);
  MPI_Type_commit(&gaps);
  const int count = 1, displacement = 0;
  FAILS(MPI_ERR_UNSUPPORTED_OPERATION,
        vicinal_neighbor_alltoallv(send.data(), &count, &displacement, gaps, receive.data(), &count,
                                   &displacement, gaps, graph),
        "delayed memory");
  RequestHandle request;
  FAILS(MPI_ERR_UNSUPPORTED_OPERATION,
        vicinal_neighbor_alltoall_init(send.data(), 1, gaps, receive.data(), 1, gaps, graph,
                                       MPI_INFO_NULL, &request),
        "delayed memory");
  MPI_Type_free(&gaps);
}

}  // namespace vicinal::unreachable_memory_tests
