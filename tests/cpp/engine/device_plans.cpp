// Plans for GPU buffers, with the driver double: data through slots, in parts, and by several
// ranks.
#include <algorithm>
#include <cstdio>
#include <fstream>
#include <string>
#include <vector>

#include "api/shared.hpp"
#include "collectives/execution_request.hpp"
#include "cost/profile_json.hpp"
#include "gpu_profile.hpp"
#include "unreachable_exchanges.hpp"

namespace vicinal::device_plans_tests {
namespace {

using namespace testing;

}  // namespace

/// Each rank needs half a million values of the next one; the plan follows a profile.
TEST(large_halos_of_device_memory_go_in_parts_or_through_slots) {
  if (world_size() == 1) skip("needs two ranks");
  const DriverDouble gpu;
  const long held = gpu.held();
  const std::string file = "large-halo-" + std::to_string(world_rank()) + ".json";
  std::ofstream(file) << write_profile(with_a_gpu());
  const Variable by("VICINAL_PROFILE", file), transport("VICINAL_DEVICE_WAY", "automatic");
  for (const bool apart : {false, true}) {
    const Duplicate comm;
    const int next = (world_rank() + 1) % world_size();
    constexpr int count = 1 << 19;
    const auto owned = arrays_of(gpu.memory())(numbers(count, std::int64_t{world_rank()} * count));
    const auto into = arrays_of(gpu.memory())(repeated(count, untouched));
    const auto needed = numbers(count, std::int64_t{next} * count);
    HaloHandle halo;
    const Hints hints{{"vicinal_local", apart ? "messages" : "shared"}};
    SUCCEEDS(vicinal_halo_create(comm, std::int64_t{world_rank()} * count,
                                 (std::int64_t{world_rank()} + 1) * count, count, needed.data(),
                                 hints, &halo));
    for (int round = 0; round < 2; ++round) {
      SUCCEEDS(vicinal_halo_exchange(halo, owned.data(), into.data(), 1, MPI_INT64_T));
      CHECK(into.values() == needed);
      SUCCEEDS(vicinal_halo_reverse(halo, owned.data(), into.data(), 1, MPI_INT64_T, MPI_REPLACE));
    }
    CHECK(owned.values() == numbers(count, std::int64_t{world_rank()} * count));
    vicinal_statistics statistics;
    SUCCEEDS(vicinal_halo_get_statistics(halo, &statistics));
    const auto messages = statistics.local_messages + statistics.nonlocal_messages;
    if (apart) {
      CHECK(messages > 1);
    } else if (all_on_one_host()) {
      CHECK_EQUAL(messages, 0);
    }
  }
  std::remove(file.c_str());
  settle(gpu, held);
  CHECK_EQUAL(gpu.get("misuses"), 0);
}

TEST(requests_go_by_the_memory_of_their_buffers) {
  if (world_size() == 1 || !all_on_one_host()) skip("needs two ranks of a host");
  const DriverDouble gpu;
  const long held = gpu.held();
  const std::string file = "request-" + std::to_string(world_rank()) + ".json";
  std::ofstream(file) << write_profile(with_a_gpu());
  const Variable by("VICINAL_PROFILE", file), transport("VICINAL_DEVICE_WAY", "automatic");
  {
    const Duplicate comm;
    const int rank = world_rank(), size = world_size();
    constexpr int count = 1 << 18;
    const int before = (rank + size - 1) % size;
    // Created while the process uses a GPU.
    const DeviceArray there(gpu.memory(), numbers(count, rank)),
        into(gpu.memory(), repeated(count, untouched));
    const GraphHandle graph = graph_of(comm, {before}, {(rank + 1) % size}, "node");
    const auto sends = [&](const std::int64_t* send, std::int64_t* receive) {
      RequestHandle request;
      SUCCEEDS(vicinal_neighbor_alltoall_init(send, count, MPI_INT64_T, receive, count, MPI_INT64_T,
                                              graph, MPI_INFO_NULL, &request));
      SUCCEEDS(vicinal_start(&request));
      SUCCEEDS(vicinal_wait(&request));
      const vicinal_request handle = request;
      const Plan& plan = static_cast<ExecutionRequest*>(c_api::object(handle))->plan().forward();
      return std::count_if(plan.operations.begin(), plan.operations.end(),
                           [](const Operation& it) { return it.kind == OperationKind::send; });
    };
    CHECK_EQUAL(sends(there.data(), into.data()), 0);
    CHECK(into.values() == numbers(count, before));
    const HostArray here(numbers(count, rank));
    HostArray into_here(repeated(count, untouched));
    if (kind_of(here.data()).is_reachable()) {
      CHECK_EQUAL(sends(here.data(), into_here.data()), 1);
      CHECK(into_here.values() == numbers(count, before));
    }
  }
  std::remove(file.c_str());
  settle(gpu, held);
}

TEST(one_ranks_device_memory_leaves_its_region_by_several) {
  if (world_size() < 4) skip("needs four ranks");
  constexpr int count = 6000;
  for (const char* const path : {DRIVER_DOUBLE_CUDA, DRIVER_DOUBLE_HIP}) {
    const DriverDouble gpu(path);
    const long held = gpu.held();
    {
      const Duplicate comm;
      const int rank = world_rank(), half = (world_size() + 1) / 2;
      // All ranks of the other region need all of rank 0's values, and one of rank 1's.
      auto needed = numbers(rank >= half ? count : 0, 0);
      if (rank >= half) needed.push_back(count);
      const Hints hints{{"vicinal_strategy", "split"},
                        {"vicinal_split_bytes", "8192"},
                        {"vicinal_regions", "blocks:" + std::to_string(half)}};
      HaloHandle halo;
      SUCCEEDS(vicinal_halo_create(
          comm, std::int64_t{rank} * count, (std::int64_t{rank} + 1) * count,
          static_cast<std::int64_t>(needed.size()), needed.data(), hints, &halo));
      vicinal_statistics statistics;
      SUCCEEDS(vicinal_halo_get_statistics(halo, &statistics));
      if (rank == 0) CHECK(statistics.nonlocal_elements < count);
      if (rank == 1) CHECK(statistics.nonlocal_elements > 1);
      for (int round = 0; round < 3; ++round) {
        const DeviceArray owned(gpu.memory(), numbers(count, std::int64_t{rank} * count + round));
        const DeviceArray into(gpu.memory(), repeated(static_cast<int>(needed.size()), untouched));
        SUCCEEDS(vicinal_halo_exchange(halo, owned.data(), into.data(), 1, MPI_INT64_T));
        auto expected = needed;
        for (std::int64_t& value : expected) value += round;
        CHECK(into.values() == expected);
      }
    }
    settle(gpu, held);
    CHECK_EQUAL(gpu.get("misuses"), 0);
  }
}

}  // namespace vicinal::device_plans_tests
