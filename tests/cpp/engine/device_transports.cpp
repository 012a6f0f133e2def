// Transports of GPU buffers, with the driver double. Each delivers the right data, and no other
// transport is used than the one requested.
#include <cstdio>
#include <fstream>
#include <string>
#include <vector>

#include "cost/profile_json.hpp"
#include "mpi/device_pointers.hpp"
#include "unreachable_exchanges.hpp"
#include "users_stream.hpp"

namespace vicinal::device_transports_tests {
namespace {

using namespace testing;

/// Returns the number of copies between device and host in one exchange of a halo, forward and
/// back. The halo uses messages alone; if `shared`, ranks of a region use shared memory.
long crossings_of_an_exchange(const DriverDouble& gpu, bool shared) {
  const Duplicate comm;
  const Mesh mesh(comm, shared ? "aggregate" : "direct", shared ? "shared" : "messages", "node");
  const auto owned = arrays_of(gpu.memory())(numbers(3, mesh.rank * 3));
  const auto into = arrays_of(gpu.memory())(repeated(mesh.ghosts(), untouched));
  const auto sums = arrays_of(gpu.memory())(repeated(3, 0));
  const auto exchange = [&] {
    SUCCEEDS(vicinal_halo_exchange(mesh.halo, owned.data(), into.data(), 1, MPI_INT64_T));
    SUCCEEDS(vicinal_halo_reverse(mesh.halo, sums.data(), into.data(), 1, MPI_INT64_T, MPI_SUM));
  };
  // The first exchange detects available features, and each of the first ones binds anew.
  for (int i = 0; i < 4; ++i) exchange();
  const long before = gpu.get("crossings");
  exchange();
  const long crossings = gpu.get("crossings") - before;
  CHECK(into.values() == mesh.needed);
  return crossings;
}

/// A halo in which each rank needs two values of the next one, which are neither adjacent nor in
/// the order needed.
class Scattered {
 public:
  template <class Make>
  Scattered(MPI_Comm comm, Make array)
      : rank_(world_rank()),
        next_((rank_ + 1) % world_size()),
        owned_(array(numbers(4, rank_ * 4))),
        into_(array(repeated(3, untouched))) {
    // The rank owns the middle value itself.
    const std::vector<std::int64_t> needed{next_ * 4 + 3, rank_ * 4 + 2, next_ * 4};
    const Hints hints{{"vicinal_strategy", "aggregate"}, {"vicinal_regions", "node"}};
    SUCCEEDS(vicinal_halo_create(comm, rank_ * 4, rank_ * 4 + 4, 3, needed.data(), hints, &halo_));
  }
  int try_to_exchange() {
    return vicinal_halo_exchange(halo_, owned_.data(), into_.data(), 1, MPI_INT64_T);
  }
  void exchange() { SUCCEEDS(try_to_exchange()); }
  void check() {
    CHECK(into_.values() == (std::vector<std::int64_t>{next_ * 4 + 3, rank_ * 4 + 2, next_ * 4}));
  }

 private:
  int rank_, next_;
  DeviceArray owned_, into_;
  HaloHandle halo_;
};

}  // namespace

TEST(what_mpi_says_of_kinds_of_memory_is_read) {
  using mpi::has_device_memory;
  CHECK(has_device_memory("system,mpi,cuda", "cuda"));
  CHECK(has_device_memory("cuda:host,cuda:managed:device", "cuda"));
  CHECK(!has_device_memory("system,mpi,cuda:host:managed", "cuda"));
  CHECK(!has_device_memory("system,rocm:device,xcuda,cudax", "cuda"));
  CHECK(!has_device_memory("", "cuda"));
}

/// Runs all kinds of exchanges in device memory that MPI accepts. With `shared`, ranks of a host
/// hand data over, and data between hosts go through host memory.
void nothing_crosses_to_the_host(const char* path, const char* transport, bool shared) {
  const DriverDouble gpu(path);
  const Variable asked("VICINAL_DEVICE_WAY", transport);
  gpu.set("open_to_mpi", 1);
  const long held = gpu.held();
  exchange_halos(arrays_of(gpu.memory()));
  exchange_by_calls(arrays_of(gpu.memory()));
  const long crossings = crossings_of_an_exchange(gpu, shared);
  if (!shared || all_on_one_host()) CHECK_EQUAL(crossings, 0);
  settle(gpu, held);
  CHECK_EQUAL(gpu.get("misuses"), 0);
}

TEST(mpi_is_given_device_memory_that_it_takes) {
  for (const char* const path : {DRIVER_DOUBLE_CUDA, DRIVER_DOUBLE_HIP}) {
    nothing_crosses_to_the_host(path, "direct", false);
  }
}

TEST(mpi_waits_for_streams_that_are_followed) {
  const Variable direct("VICINAL_DEVICE_WAY", "direct");
  const DriverDouble gpu;
  gpu.set("open_to_mpi", 1);
  const Duplicate comm;
  const Mesh mesh(comm, "direct", "messages");
  const auto owned = arrays_of(gpu.memory())(numbers(3, mesh.rank * 3));
  const auto later = arrays_of(gpu.memory())(numbers(3, mesh.rank * 3 + 1000));
  const auto into = arrays_of(gpu.memory())(repeated(mesh.ghosts(), untouched));
  UsersStream users(gpu);
  for (const int more : {0, 1000}) {
    // All its work is done once a thread waits for it.
    gpu.set("hold", more > 0 ? 1 : 0);
    if (more > 0) users.copy(owned, later, 3);
    SUCCEEDS(vicinal_follow_stream(owned.data(), users.stream()));
    vicinal_request request = nullptr;
    SUCCEEDS(vicinal_halo_start(mesh.halo, owned.data(), into.data(), 1, MPI_INT64_T, &request));
    gpu.set("hold", 0);
    SUCCEEDS(vicinal_wait(&request));
    std::vector<std::int64_t> expected;
    for (const std::int64_t index : mesh.needed) expected.push_back(index + more);
    CHECK(into.values() == expected);
  }
  const Forgiving forgiving;
  FAILS(MPI_ERR_ARG, vicinal_follow_stream(&mesh, users.stream()),
        "does not lie in the memory of a GPU");
}

TEST(a_device_that_fails_while_mpi_waits_for_streams_costs_one_exchange) {
  const Variable direct("VICINAL_DEVICE_WAY", "direct");
  const DriverDouble gpu;
  gpu.set("open_to_mpi", 1);
  const Duplicate comm;
  const Mesh mesh(comm, "direct", "messages");
  const auto owned = arrays_of(gpu.memory())(numbers(3, mesh.rank * 3));
  auto into = arrays_of(gpu.memory())(repeated(mesh.ghosts(), untouched));
  UsersStream users(gpu);
  const auto exchange = [&] {
    vicinal_request request = nullptr;
    const bool begun = vicinal_halo_start(mesh.halo, owned.data(), into.data(), 1, MPI_INT64_T,
                                          &request) == MPI_SUCCESS;
    return begun && vicinal_wait(&request) == MPI_SUCCESS;
  };
  CHECK(exchange());
  int faults = 0;
  for (int n = 1; n <= 6; ++n) {
    {
      const Forgiving forgiving;
      SUCCEEDS(vicinal_follow_stream(owned.data(), users.stream()));
      if (mesh.rank == 0) gpu.set("fail_in", n);
      if (!exchange() && mesh.rank == 0) ++faults;
      gpu.set("fail_in", 0);
    }
    into.fill(repeated(mesh.ghosts(), untouched));
    for (int place = 0; place < 4; ++place) CHECK(exchange());
    CHECK(into.values() == mesh.needed);
  }
  CHECK(mesh.rank != 0 || faults > 0);
  CHECK_EQUAL(gpu.get("misuses"), 0);
}

TEST(mpi_is_not_given_device_memory_that_it_does_not_take) {
  // None of the tested MPIs supports GPUs, and the processor does not access their memory: the
  // library tries nothing.
  const Variable direct("VICINAL_DEVICE_WAY", "direct");
  const DriverDouble gpu;
  exchange_halos(arrays_of(gpu.memory()));
  if (world_size() > 1) CHECK(crossings_of_an_exchange(gpu, false) > 0);
  CHECK_EQUAL(gpu.get("misuses"), 0);
}

TEST(mpi_is_given_device_memory_where_the_profile_has_it_faster) {
  const Variable automatic("VICINAL_DEVICE_WAY", "automatic");
  const DriverDouble gpu;
  gpu.set("open_to_mpi", 1);
  const std::string file = "device-way-" + std::to_string(world_rank()) + ".json";
  for (const bool faster : {true, false}) {
    Profile profile = default_profile();
    profile.device = DeviceCost{"a GPU", 0, {}, {1e-6, 9e-6, 1e-10}, {1e-6, 9e-6, 1e-10}, {}, {}};
    profile.device->levels = profile.levels;
    for (LevelCost& level : *profile.device->levels) level.send_overhead = faster ? 1e-6 : 1e-3;
    // A process reads a file once.
    const std::string named = (faster ? "faster-" : "slower-") + file;
    std::ofstream(named) << write_profile(profile);
    const Variable by("VICINAL_PROFILE", named);
    const long crossings = crossings_of_an_exchange(gpu, false);
    if (world_size() > 1) CHECK_EQUAL(crossings == 0, faster);
    std::remove(named.c_str());
  }
}

TEST(ranks_of_a_host_reach_into_each_others_device_memory) {
  for (const char* const path : {DRIVER_DOUBLE_CUDA, DRIVER_DOUBLE_HIP}) {
    for (const char* const transport : {"shared", "direct-shared"}) {
      nothing_crosses_to_the_host(path, transport, true);  // where all ranks share a host
    }
  }
  const DriverDouble gpu;
  const Variable by("VICINAL_DEVICE_WAY", "staged");
  if (world_size() > 1) {
    CHECK(crossings_of_an_exchange(gpu, true) > 0);
  }
}

TEST(device_memory_of_others_serves_elements_of_any_size_and_buffers_anywhere) {
  if (!kind_of(HostArray({1}).data()).is_reachable()) skip("needs the host's memory");
  const Variable by("VICINAL_DEVICE_WAY", "shared");
  const DriverDouble gpu;
  const long held = gpu.held();
  {
    const Duplicate comm;
    const Mesh mesh(comm, "aggregate", "shared", "node");
    const auto array = arrays_of(gpu.memory());
    MPI_Datatype twice = MPI_DATATYPE_NULL;
    MPI_Type_contiguous(2, MPI_INT64_T, &twice);
    MPI_Type_commit(&twice);
    // Areas are replaced when the size changes, and kept when the buffers move.
    for (int round = 0; round < 12; ++round) {
      const int values = round % 3 == 2 ? 2 : 1;
      const bool owned_there = round % 2 == 0 || mesh.rank % 2 == 0;
      const bool into_there = round % 4 < 2 || mesh.rank % 3 == 0;
      std::vector<std::int64_t> expected;
      for (const std::int64_t index : mesh.needed) {
        for (int i = 0; i < values; ++i) expected.push_back(index * values + i + round);
      }
      const auto given = numbers(3 * values, mesh.rank * 3 * values + round);
      const auto ghosts = repeated(mesh.ghosts() * values, untouched);
      const auto owned = array(given), into = array(ghosts);
      HostArray owned_here(given), into_here(ghosts);
      SUCCEEDS(vicinal_halo_exchange(mesh.halo, owned_there ? owned.data() : owned_here.data(),
                                     into_there ? into.data() : into_here.data(), 1,
                                     values == 2 ? twice : MPI_INT64_T));
      CHECK((into_there ? into.values() : into_here.values()) == expected);
    }
    MPI_Type_free(&twice);
  }
  settle(gpu, held);
  CHECK_EQUAL(gpu.get("misuses"), 0);
}

TEST(jobs_reach_what_ranks_of_a_host_hand_over) {
  if (!all_on_one_host()) skip("needs one host");
  const Variable by("VICINAL_DEVICE_WAY", "staged");
  for (const char* const path : {DRIVER_DOUBLE_CUDA, DRIVER_DOUBLE_HIP}) {
    for (const char* const trouble : {"", "no_admission", "seen_elsewhere"}) {
      const DriverDouble gpu(path);
      if (*trouble != '\0') gpu.set(trouble, 1);
      const long held = gpu.held();
      {
        const Duplicate comm;
        Scattered scattered(comm, arrays_of(gpu.memory()));
        for (int round = 0; round < 4; ++round) {
          scattered.exchange();
          scattered.check();
        }
        // One kernel gathers and one scatters, both accessing the slot; nothing is copied. The
        // barrier matters: while a slot is read, the gather waits, and data of the own rank are
        // copied separately.
        MPI_Barrier(comm);
        const long before = gpu.get("copies"), crossings = gpu.get("crossings");
        scattered.exchange();
        if (world_size() > 1) {
          CHECK_EQUAL(gpu.get("copies") == before, *trouble == '\0');
          CHECK(gpu.get("crossings") > crossings);
        }
        scattered.check();
      }
      settle(gpu, held);
      CHECK_EQUAL(gpu.get("misuses"), 0);
    }
  }
}

TEST(device_memory_that_cannot_be_shared_stays_with_its_rank) {
  const Variable by("VICINAL_DEVICE_WAY", "shared");
  const DriverDouble gpu;
  gpu.set("no_sharing", world_rank() % 2 == 0 ? 1 : 0);
  exchange_halos(arrays_of(gpu.memory()));
  CHECK_EQUAL(gpu.get("misuses"), 0);
}

TEST(who_cannot_open_device_memory_of_others_says_so) {
  const Variable by("VICINAL_DEVICE_WAY", "shared");
  const DriverDouble gpu;
  const long held = gpu.held();
  {
    const Duplicate comm;
    const Mesh mesh(comm, "aggregate", "shared", "node");
    const auto owned = arrays_of(gpu.memory())(numbers(3, mesh.rank * 3));
    const auto into = arrays_of(gpu.memory())(repeated(mesh.ghosts(), untouched));
    const auto exchange = [&] {
      return vicinal_halo_exchange(mesh.halo, owned.data(), into.data(), 1, MPI_INT64_T);
    };
    gpu.set("no_opening", mesh.rank == 0 ? 1 : 0);
    const int error = exchange();
    const std::string said = vicinal_error_message();
    // A single rank has no peer whose memory it would open.
    CHECK_EQUAL(error != MPI_SUCCESS, mesh.rank == 0 && mesh.size > 1);
    if (error != MPI_SUCCESS)
      CHECK(said.find("give vicinal_device_way=staged") != std::string::npos);
    gpu.set("no_opening", 0);
    MPI_Barrier(comm);
    SUCCEEDS(exchange());
    CHECK(into.values() == mesh.needed);
  }
  settle(gpu, held);
  CHECK_EQUAL(gpu.get("misuses"), 0);
}

TEST(a_kernel_that_fails_is_a_fault_of_all_who_need_what_it_copies) {
  if (world_size() == 1 || !all_on_one_host()) skip("needs two ranks of a host");
  const Variable by("VICINAL_DEVICE_WAY", "shared");
  for (const char* const path : {DRIVER_DOUBLE_CUDA, DRIVER_DOUBLE_HIP}) {
    const DriverDouble gpu(path);
    const long held = gpu.held();
    {
      const Duplicate comm;
      const int rank = world_rank();
      Scattered scattered(comm, arrays_of(gpu.memory()));
      scattered.exchange();
      for (int round = 0; round < 3; ++round) {
        const long told = gpu.get("words");
        // The kernel by which rank 0 hands data over.
        if (rank == 0) gpu.set("fail_kernel", gpu.get("launches") + 1);
        const int error = scattered.try_to_exchange();
        if (rank == 0) {
          CHECK(error != MPI_SUCCESS);
          CHECK(std::string(vicinal_error_message()).find("Query has failed with 719") !=
                std::string::npos);
        }
        if (rank == world_size() - 1) CHECK(error != MPI_SUCCESS);
        gpu.set("fail_kernel", 0);
        MPI_Barrier(comm);
        scattered.exchange();
        scattered.check();
        CHECK(gpu.get("words") > told);
        MPI_Barrier(comm);
      }
    }
    settle(gpu, held);
    CHECK_EQUAL(gpu.get("misuses"), 0);
  }
}

}  // namespace vicinal::device_transports_tests
