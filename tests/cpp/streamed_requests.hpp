// Requests that streams of the double's devices begin, and wait for.
#pragma once

#include <cstring>
#include <vector>

#include "mpi/environment.hpp"
#include "unreachable_exchanges.hpp"
#include "users_stream.hpp"

namespace vicinal::testing {

inline std::int64_t filled(int byte) {
  std::int64_t value = 0;
  std::memset(&value, byte, sizeof value);
  return value;
}

/// Rank 0 owns four numbers, which all others need; and a request that brings them.
struct Persistent {
  int rank = world_rank();
  Duplicate comm;
  DeviceArray owned, into, later;
  HaloHandle halo;
  RequestHandle request;

  Persistent(const DriverDouble& gpu, const char* strategy, const char* regions = "node")
      : owned(gpu.memory(), numbers(4, 0)),
        into(gpu.memory(), repeated(4, untouched)),
        later(gpu.memory(), repeated(4, untouched)) {
    const auto needed = numbers(rank == 0 ? 0 : 4, 0);
    const Hints hints{{"vicinal_strategy", strategy}, {"vicinal_regions", regions}};
    SUCCEEDS(vicinal_halo_create(comm, 0, rank == 0 ? 4 : 0,
                                 static_cast<std::int64_t>(needed.size()), needed.data(), hints,
                                 &halo));
    SUCCEEDS(vicinal_halo_init(halo, owned.data(), into.data(), 1, MPI_INT64_T, &request));
  }
  Persistent(const Persistent&) = delete;
  Persistent& operator=(const Persistent&) = delete;
  /// What may have been lent stays until all have freed the exchange.
  ~Persistent() {
    request.free();
    halo.free();
    MPI_Barrier(comm);
  }
  [[nodiscard]] bool has(std::int64_t value) const {
    return rank == 0 || later.values() == repeated(4, value);
  }
};

/// A double whose devices' streams can wait for words; all that was held is given back at the end.
template <class Body>
void with_streams(Body body) {
  if (!mpi::thread_multiple()) skip("needs MPI_THREAD_MULTIPLE");
  const DriverDouble gpu;
  // Who is followed first has an event made that stays.
  UsersStream(gpu).be_followed(DeviceArray(gpu.memory(), numbers(4, 0)));
  const long held = gpu.held(), misuses = gpu.get("misuses");
  body(gpu);
  settle(gpu, held);
  CHECK_EQUAL(gpu.get("misuses"), misuses);
}

}  // namespace vicinal::testing
