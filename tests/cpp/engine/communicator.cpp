// The private communicator: made once, found again, and freed without a deadlock in whatever order
// the user's communicators are freed.
#include "mpi/communicator.hpp"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <memory>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "check.hpp"
#include "collectives/graph_tags.hpp"
#include "mpi/backoff.hpp"
#include "mpi/collectives.hpp"
#include "mpi/drive.hpp"
#include "mpi/environment.hpp"
#include "mpi/errors.hpp"
#include "mpi/requests.hpp"

namespace vicinal::mpi::communicator_tests {
namespace {

/// Alive after MPI_Finalize, like a request that the user forgot to free.
std::shared_ptr<Communicator> forgotten;
RequestSet forgotten_requests;

int world_rank() {
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  return rank;
}

MPI_Comm duplicate_world() {
  MPI_Comm copy = MPI_COMM_NULL;
  MPI_Comm_dup(MPI_COMM_WORLD, &copy);
  return copy;
}

TEST(communicator_is_made_once) {
  const auto first = Communicator::of(MPI_COMM_WORLD);
  CHECK(Communicator::of(MPI_COMM_WORLD) == first);
  CHECK(first->handle() != MPI_COMM_WORLD);
  int same = 0;
  MPI_Comm_compare(first->handle(), MPI_COMM_WORLD, &same);
  CHECK_EQUAL(same, MPI_CONGRUENT);
  CHECK_EQUAL(first->rank(), world_rank());
  MPI_Comm copy = duplicate_world();
  CHECK(Communicator::of(copy) != first);
  MPI_Comm_free(&copy);
  const auto alone = Communicator::of(MPI_COMM_SELF);
  CHECK_EQUAL(alone->size(), 1);
  CHECK_EQUAL(alone->machine()->regions(), 1);
}

TEST(communicator_refuses_null) {
  CHECK_THROWS(Fault::communicator, Communicator::of(MPI_COMM_NULL), "MPI_COMM_NULL");
}

TEST(communicator_refuses_intercommunicators) {
  int size = 0;
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  if (size < 2) testing::skip("needs 2 ranks");
  const bool low = world_rank() < size / 2;
  MPI_Comm half = MPI_COMM_NULL;
  MPI_Comm between = MPI_COMM_NULL;
  MPI_Comm_split(MPI_COMM_WORLD, low ? 0 : 1, 0, &half);
  MPI_Intercomm_create(half, 0, MPI_COMM_WORLD, low ? size / 2 : 0, 1, &between);
  CHECK_THROWS(Fault::communicator, Communicator::of(between), "inter-communicator");
  MPI_Comm_free(&between);
  MPI_Comm_free(&half);
}

TEST(communicator_knows_places_and_regions) {
  const auto world = Communicator::of(MPI_COMM_WORLD);
  const auto size = static_cast<std::size_t>(world->size());
  CHECK_EQUAL(world->places().node_of.size(), size);
  CHECK_EQUAL(world->places().numa_of.size(), size);
  const auto machine = world->machine("round-robin:2");
  CHECK_EQUAL(machine->regions(), std::min(2, world->size()));
  CHECK(world->machine("round-robin:2") == machine);
  CHECK_THROWS(Fault::topology, world->machine("nonsense"), "nonsense");
  CHECK_THROWS(Fault::topology, world->set_regions("nonsense"), "nonsense");

  MPI_Comm copy = duplicate_world();
  const auto other = Communicator::of(copy);
  other->set_regions("blocks:1");
  if (std::getenv("VICINAL_REGIONS") == nullptr) {
    CHECK_EQUAL(other->machine()->regions(), other->size());
  }
  MPI_Comm_free(&copy);
}

TEST(communicator_arena_is_shared_by_the_host) {
  const auto world = Communicator::of(MPI_COMM_WORLD);
  const auto machine = world->machine();
  Arena* arena = world->arena();
  std::int64_t mine = -1;
  if (arena != nullptr) {
    mine = arena->allocate(sizeof(int));
    *reinterpret_cast<int*>(arena->at(mine)) = world->rank() + 1000;
    CHECK_EQUAL(world->arena_index(), arena->index());
    CHECK_EQUAL(world->arena_fault(), std::string());
  } else {
    CHECK(!world->arena_fault().empty());
  }
  const std::vector<std::int64_t> offsets = allgather(world->handle(), std::span(&mine, 1));
  for (int rank = 0; rank < world->size(); ++rank) {
    if (rank == world->rank() || !machine->same_host(rank, world->rank())) continue;
    CHECK(arena != nullptr);
    const std::int64_t offset = offsets[static_cast<std::size_t>(rank)];
    CHECK_EQUAL(*reinterpret_cast<int*>(arena->at(offset)), rank + 1000);
  }
  barrier(world->handle());
  if (arena != nullptr) arena->release(mine);
}

TEST(communicator_without_shared_memory) {
  const char* before = std::getenv("VICINAL_SHARED_MEMORY");
  const std::string kept = before == nullptr ? "" : before;
  MPI_Comm copy = duplicate_world();
  setenv("VICINAL_SHARED_MEMORY", "0", 1);
  const auto without = Communicator::of(copy);
  CHECK(without->arena() == nullptr);
  CHECK_EQUAL(without->arena_fault(), std::string("switched off by VICINAL_SHARED_MEMORY=0"));
  CHECK_EQUAL(without->machine()->hosts(), without->size());
  MPI_Comm_free(&copy);

  copy = duplicate_world();
  setenv("VICINAL_SHARED_MEMORY", "maybe", 1);
  CHECK_THROWS(Fault::info, Communicator::of(copy),
               "VICINAL_SHARED_MEMORY is 'maybe', but '1' or '0' is expected");
  setenv("VICINAL_SHARED_MEMORY", kept.c_str(), 1);
  CHECK_EQUAL(Communicator::of(copy)->size(), without->size());
  MPI_Comm_free(&copy);
}

TEST(communicator_tells_all_ranks_of_one_whose_environment_cannot_be_read) {
  int size = 0;
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  const int odd = size - 1;
  for (const auto& [variable, expected] :
       std::vector<std::array<std::string, 2>>{{"VICINAL_SHARED_MEMORY", "'1' or '0'"},
                                               {"VICINAL_REPORT_WAITS", "a number of seconds"},
                                               {"VICINAL_LOG", "'warn', 'info' or 'debug'"}}) {
    const char* before = std::getenv(variable.c_str());
    const std::string kept = before == nullptr ? "" : before;
    MPI_Comm copy = duplicate_world();
    if (world_rank() == odd) setenv(variable.c_str(), "maybe", 1);
    CHECK_THROWS(Fault::info, Communicator::of(copy), variable + " is 'maybe', but " + expected);
    CHECK_THROWS(Fault::info, Communicator::of(copy), "(on rank " + std::to_string(odd) + ")");
    setenv(variable.c_str(), kept.c_str(), 1);
    CHECK_EQUAL(Communicator::of(copy)->size(), size);
    MPI_Comm_free(&copy);
  }
}

TEST(communicator_wants_the_same_environment_everywhere) {
  int size = 0;
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  if (size < 2) testing::skip("needs 2 ranks");
  const int odd = size - 1;
  for (const char* variable :
       {"VICINAL_STRATEGY", "VICINAL_ALLGATHER", "VICINAL_REGIONS", "VICINAL_EXCHANGE",
        "VICINAL_LOCAL", "VICINAL_IN_FLIGHT", "VICINAL_PROGRESS", "VICINAL_SPLIT_BYTES",
        "VICINAL_RADIX", "VICINAL_PROGRESS_THREAD"}) {
    const char* before = std::getenv(variable);
    const std::string kept = before == nullptr ? "" : before;
    MPI_Comm copy = duplicate_world();
    const std::string common = variable;
    setenv(variable, world_rank() == odd ? "" : "4", 1);
    CHECK_THROWS(Fault::info, Communicator::of(copy),
                 common + " is '4' on rank 0, but not set on rank " + std::to_string(odd));
    setenv(variable, world_rank() == odd ? "8" : "4", 1);
    CHECK_THROWS(Fault::info, Communicator::of(copy),
                 common + " is '4' on rank 0, but '8' on rank " + std::to_string(odd));
    setenv(variable, kept.c_str(), 1);
    CHECK_EQUAL(Communicator::of(copy)->size(), size);
    MPI_Comm_free(&copy);
  }
}

TEST(communicator_agrees_on_regions) {
  int size = 0;
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  const char* before = std::getenv("VICINAL_REGIONS");
  const std::string kept = before == nullptr ? "" : before;
  if (size < 2) testing::skip("needs 2 ranks");
  MPI_Comm copy = duplicate_world();
  setenv("VICINAL_REGIONS", world_rank() == 1 ? "blocks:2" : "node", 1);
  CHECK_THROWS(Fault::info, Communicator::of(copy),
               "VICINAL_REGIONS is 'node' on rank 0, but 'blocks:2' on rank 1");
  setenv("VICINAL_REGIONS", "blocks:1", 1);
  const auto forced = Communicator::of(copy);
  forced->set_regions("node");
  CHECK_EQUAL(forced->machine()->regions(), size);
  setenv("VICINAL_REGIONS", kept.c_str(), 1);
  MPI_Comm_free(&copy);
}

TEST(communicator_tags_are_reused_as_late_as_possible) {
  MPI_Comm copy = duplicate_world();
  const auto communicator = Communicator::of(copy);
  MPI_Comm_free(&copy);
  const std::int64_t limit = communicator->tag_limit();
  CHECK(limit >= 1000);
  int* largest = nullptr;
  int found = 0;
  MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_TAG_UB, static_cast<void*>(&largest), &found);
  CHECK(Communicator::data_tag(limit - 1, channels_per_plan - 1, true) <= *largest);
  CHECK_EQUAL(Communicator::data_tag(0, 0, false), static_cast<int>(reserved_tags));
  std::set<int> tags;
  for (const std::int64_t tag : {0, 1, 2}) {
    for (int channel = 0; channel < channels_per_plan; ++channel) {
      tags.insert(Communicator::data_tag(tag, channel, false));
      tags.insert(Communicator::data_tag(tag, channel, true));
    }
  }
  CHECK_EQUAL(tags.size(), std::size_t{3} * 2 * channels_per_plan);

  CHECK_EQUAL(communicator->acquire_tag(), 0);
  CHECK_EQUAL(communicator->acquire_tag(), 1);
  communicator->release_tag(0);
  CHECK_EQUAL(communicator->acquire_tag(), 2);
  CHECK_THROWS(Fault::internal, communicator->release_tag(0), "not in use");
  const std::int64_t graph = next_graph_number(*communicator);
  CHECK_EQUAL(next_graph_number(*communicator), graph + 1);
}

TEST(a_numa_node_lies_within_a_host) {
  MPI_Comm copy = duplicate_world();
  const auto communicator = Communicator::of(copy);
  MPI_Comm_free(&copy);
  const DetectedPlaces& places = communicator->places();
  for (std::size_t a = 0; a < places.numa_of.size(); ++a) {
    for (std::size_t b = 0; b < a; ++b) {
      if (places.numa_of[a] == places.numa_of[b]) CHECK_EQUAL(places.node_of[a], places.node_of[b]);
    }
  }
}

TEST(communicator_outlives_the_users) {
  MPI_Comm copy = duplicate_world();
  auto communicator = Communicator::of(copy);
  MPI_Comm_free(&copy);
  barrier(communicator->handle());
  const std::vector<std::int64_t> ranks =
      allgather(communicator->handle(), std::array<std::int64_t, 1>{communicator->rank()});
  CHECK_EQUAL(ranks.back(), communicator->size() - 1);
}

TEST(what_is_kept_with_a_communicator_is_one_object_of_each_type) {
  struct Kept {
    std::shared_ptr<Communicator> communicator;
  };
  struct Other {
    int value = 0;
  };
  MPI_Comm copy = duplicate_world();
  auto communicator = Communicator::of(copy);
  const std::weak_ptr<Communicator> watched = communicator;
  std::array<Other*, 4> found{};
  std::vector<std::thread> threads;
  for (Other*& place : found) {
    threads.emplace_back([&] { place = &communicator->extension<Other>(); });
  }
  for (std::thread& thread : threads) thread.join();
  for (const Other* other : found) CHECK(other == found[0]);
  found[0]->value = 3;
  CHECK_EQUAL(communicator->extension_until_freed<Other>().value, 0);
  CHECK_EQUAL(Communicator::of(MPI_COMM_WORLD)->extension<Other>().value, 0);

  communicator->extension_until_freed<Kept>().communicator = communicator;
  communicator.reset();
  CHECK_EQUAL(watched.lock()->extension<Other>().value, 3);
  // Freeing the user's communicator releases the object that owns the private one.
  MPI_Comm_free(&copy);
  const auto begin = std::chrono::steady_clock::now();
  poll_until([&] {
    return watched.expired() || std::chrono::steady_clock::now() - begin > std::chrono::seconds(20);
  });
  CHECK(watched.expired());
}

TEST(communicators_may_be_freed_in_any_order) {
  constexpr std::size_t many = 6;
  std::array<MPI_Comm, many> users{};
  std::vector<std::shared_ptr<Communicator>> held;
  for (MPI_Comm& user : users) {
    user = duplicate_world();
    held.push_back(Communicator::of(user));
  }
  // The last owners release theirs in a different order on each rank, while other ranks are still
  // active.
  for (MPI_Comm& user : users) MPI_Comm_free(&user);
  const auto shift = static_cast<std::size_t>(world_rank());
  for (std::size_t i = 0; i < many; ++i) held[(i + shift) % many].reset();
  MPI_Barrier(MPI_COMM_WORLD);

  // Attributes are deleted while ranks free the user's communicators in different orders.
  for (MPI_Comm& user : users) {
    user = duplicate_world();
    Communicator::of(user);
  }
  for (std::size_t i = 0; i < many; ++i) MPI_Comm_free(&users[(i + shift) % many]);
  MPI_Barrier(MPI_COMM_WORLD);
}

TEST(communicators_are_not_used_up) {
  // MPICH has 2,045 communicators, and runs out if they leak. This takes long only where ranks
  // share cores.
  int size = 0;
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  const int many = size <= 2 ? 2200 : 20;
  for (int i = 0; i < many; ++i) {
    MPI_Comm copy = duplicate_world();
    const auto communicator = Communicator::of(copy);
    MPI_Comm_free(&copy);
  }
}

TEST(communicator_may_be_forgotten) {
  MPI_Comm copy = duplicate_world();
  forgotten = Communicator::of(copy);
  // Neither is freed: MPI_Finalize finds both, and the static objects outlive MPI. No rank reads
  // the control message.
  forgotten_requests = RequestSet(forgotten->handle(), 1);
  forgotten_requests.receive_init(0, nullptr, 0, 0, 100);
  const ControlMessage message{(forgotten->rank() + 1) % forgotten->size(), {1, 2, 3}};
  forgotten->mailbox().post({77, 0}, 0, message);
}

TEST(numa_node_is_read_from_cpu_lists) {
  namespace fs = std::filesystem;
  const fs::path root = fs::temp_directory_path() / ("vicinal-numa-" + std::to_string(getpid()));
  const auto write = [&](const char* node, const char* list) {
    fs::create_directories(root / node);
    std::ofstream(root / node / "cpulist") << list << '\n';
  };
  CHECK_EQUAL(detect_numa_node(root.string()), 0);
  write("node0", "900-1000");
  write("node1", "");
  write("node3", "0-899,1001-5000");
  write("node7", "0-899,1001-5000");
  fs::create_directories(root / "possible");
  CHECK_EQUAL(detect_numa_node(root.string()), 3);
  fs::remove_all(root);
}

int seen_class = MPI_SUCCESS;
void remember(MPI_Comm*, int* code, ...) { seen_class = *code; }

TEST(errors_reach_the_users_handler) {
  MPI_Comm copy = duplicate_world();
  MPI_Errhandler handler = MPI_ERRHANDLER_NULL;
  MPI_Comm_create_errhandler(remember, &handler);
  MPI_Comm_set_errhandler(copy, handler);
  CHECK_EQUAL(raise(copy, Error(Fault::topology, "regions are wrong")), MPI_ERR_TOPOLOGY);
  CHECK_EQUAL(seen_class, MPI_ERR_TOPOLOGY);
  CHECK_EQUAL(std::string(last_error_message()), std::string("regions are wrong"));
  MPI_Comm_set_errhandler(copy, MPI_ERRORS_RETURN);
  CHECK_EQUAL(raise(copy, Error(Fault::memory, "no memory")), MPI_ERR_NO_MEM);
  MPI_Errhandler_free(&handler);
  MPI_Comm_free(&copy);
  CHECK_THROWS(Fault::rank, check(MPI_ERR_RANK, "MPI_Something"), "MPI_Something failed");
}

}  // namespace
}  // namespace vicinal::mpi::communicator_tests
