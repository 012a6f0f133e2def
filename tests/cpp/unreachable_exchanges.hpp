// Exchanges of buffers that MPI cannot access: halos and graph calls, for any kind of array.
#pragma once

#include <mpi.h>

#include <chrono>
#include <numeric>
#include <string>
#include <thread>
#include <vector>

#include "arrays.hpp"
#include "check.hpp"
#include "driver_double.hpp"
#include "world.hpp"

namespace vicinal::testing {

inline constexpr std::int64_t untouched = -77;

inline std::vector<std::int64_t> numbers(int count, std::int64_t first) {
  std::vector<std::int64_t> result(static_cast<std::size_t>(count));
  std::iota(result.begin(), result.end(), first);
  return result;
}

inline std::vector<std::int64_t> repeated(int count, std::int64_t value) {
  return std::vector<std::int64_t>(static_cast<std::size_t>(count), value);
}

/// A mesh in which each rank owns three indices, and needs those of the next two ranks, reordered.
struct Mesh {
  int rank = world_rank();
  int size = world_size();
  std::vector<std::int64_t> needed;
  HaloHandle halo;

  Mesh(MPI_Comm comm, const char* strategy, const char* local = "shared",
       const std::string& regions = few_regions(world_size())) {
    for (const int ahead : {2, 1}) {
      for (const int i : {2, 0, 1}) needed.push_back((rank + ahead) % size * 3 + i);
    }
    const Hints hints{
        {"vicinal_strategy", strategy}, {"vicinal_regions", regions}, {"vicinal_local", local}};
    SUCCEEDS(vicinal_halo_create(comm, rank * 3, rank * 3 + 3,
                                 static_cast<std::int64_t>(needed.size()), needed.data(), hints,
                                 &halo));
  }
  [[nodiscard]] int ghosts() const { return static_cast<int>(needed.size()); }
};

/// A user-defined operator.
inline void add_modulo_seven(void* in, void* inout, int* count, MPI_Datatype*) {
  const auto* from = static_cast<const std::int64_t*>(in);
  auto* to = static_cast<std::int64_t*>(inout);
  for (int i = 0; i < *count; ++i) to[i] = (to[i] + from[i]) % 7;
}

/// Factories of arrays of either kind.
inline DelayedArray delayed_array(const std::vector<std::int64_t>& values) { return {values}; }

inline auto arrays_of(MemoryKind& memory) {
  return [&memory](const std::vector<std::int64_t>& values) { return DeviceArray(memory, values); };
}

template <class Make>
void exchange_halos(Make array) {
  const Duplicate comm;
  MPI_Op modulo_seven = MPI_OP_NULL;
  MPI_Op_create(add_modulo_seven, 1, &modulo_seven);
  for (const char* strategy : {"direct", "aggregate", "split"}) {
    const Mesh mesh(comm, strategy);
    for (int round = 0; round < 4; ++round) {
      const int owned_count = 3, ghosts = mesh.ghosts();
      const auto owned = array(numbers(owned_count, mesh.rank * 3 + 1000 * round));
      const auto into = array(repeated(ghosts, untouched));
      SUCCEEDS(vicinal_halo_exchange(mesh.halo, owned.data(), into.data(), 1, MPI_INT64_T));
      std::vector<std::int64_t> expected;
      for (const std::int64_t index : mesh.needed) expected.push_back(index + 1000 * round);
      CHECK(into.values() == expected);

      // Each index is a ghost of two ranks, which both contribute its number.
      std::vector<std::int64_t> given;
      for (const std::int64_t index : mesh.needed) given.push_back(index + round);
      const auto ghost_side = array(given);
      for (const bool users : {false, true}) {
        const auto sums = array(repeated(owned_count, 5));
        SUCCEEDS(vicinal_halo_reverse(mesh.halo, sums.data(), ghost_side.data(), 1, MPI_INT64_T,
                                      users ? modulo_seven : MPI_SUM));
        std::vector<std::int64_t> added;
        for (int i = 0; i < owned_count; ++i) {
          const std::int64_t sum = 5 + 2 * (mesh.rank * 3 + i + round);
          added.push_back(users ? sum % 7 : sum);
        }
        CHECK(sums.values() == added);
      }
    }
  }
  MPI_Op_free(&modulo_seven);
}

template <class Make>
void exchange_by_calls(Make array) {
  const Duplicate comm;
  const int rank = world_rank(), size = world_size();
  const int next = (rank + 1) % size, last = (rank + size - 1) % size;
  const GraphHandle graph = graph_of(comm, {last}, {next}, few_regions(size));
  for (int round = 0; round < 3; ++round) {
    const auto send = array(numbers(4, rank * 100 + round));
    const auto receive = array(repeated(4, untouched));
    SUCCEEDS(vicinal_neighbor_alltoall(send.data(), 4, MPI_INT64_T, receive.data(), 4, MPI_INT64_T,
                                       graph));
    CHECK(receive.values() == numbers(4, last * 100 + round));
  }
  RequestHandle request;
  const auto send = array(numbers(4, rank)), receive = array(repeated(4, untouched));
  SUCCEEDS(vicinal_neighbor_allgather_init(send.data(), 4, MPI_INT64_T, receive.data(), 4,
                                           MPI_INT64_T, graph, MPI_INFO_NULL, &request));
  for (int round = 0; round < 3; ++round) {
    SUCCEEDS(vicinal_start(&request));
    SUCCEEDS(vicinal_wait(&request));
    CHECK(receive.values() == numbers(4, last));
  }
}

/// Waits for all ranks, and makes progress meanwhile.
inline void meet(MPI_Comm comm) {
  MPI_Request request = MPI_REQUEST_NULL;
  MPI_Ibarrier(comm, &request);
  for (int done = 0; done == 0; MPI_Test(&request, &done, MPI_STATUS_IGNORE)) {
    SUCCEEDS(vicinal_progress());
    std::this_thread::yield();
  }
}

/// Waits until the GPU's objects are back to `held`. Slots release device memory once all ranks of
/// the host have released them. `held` may include objects of the previous case.
inline void settle(const DriverDouble& gpu, long held) {
  MPI_Barrier(MPI_COMM_WORLD);
  const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(20);
  while (gpu.held() > held && std::chrono::steady_clock::now() < until) {
    SUCCEEDS(vicinal_progress());
    std::this_thread::yield();
  }
  meet(MPI_COMM_WORLD);  // other ranks' objects may wait for this rank
  CHECK(gpu.held() <= held);
}

}  // namespace vicinal::testing
