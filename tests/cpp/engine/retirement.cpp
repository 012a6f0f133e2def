// Freeing a communicator waits for no other rank. In the end nothing of it is left, whenever and in
// whatever order ranks release it.
#include "mpi/retirement.hpp"

#include <array>
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <memory>
#include <thread>
#include <vector>

#include "mpi/backoff.hpp"
#include "mpi/communicator.hpp"
#include "mpi/deferred.hpp"
#include "progress/activity.hpp"
#include "world.hpp"

namespace {

/// Number of communicators of this rank that were made and not freed.
std::atomic<int> live_communicators = 0;

int counted(int result, int change) {
  if (result == MPI_SUCCESS) live_communicators += change;
  return result;
}

}  // namespace

// Replacements through MPI's profiling interface, which the library calls.
extern "C" {

int MPI_Comm_create(MPI_Comm comm, MPI_Group group, MPI_Comm* made) {
  return counted(PMPI_Comm_create(comm, group, made), 1);
}
int MPI_Comm_split(MPI_Comm comm, int color, int key, MPI_Comm* made) {
  return counted(PMPI_Comm_split(comm, color, key, made), color == MPI_UNDEFINED ? 0 : 1);
}
int MPI_Comm_dup(MPI_Comm comm, MPI_Comm* made) { return counted(PMPI_Comm_dup(comm, made), 1); }
int MPI_Comm_free(MPI_Comm* comm) { return counted(PMPI_Comm_free(comm), -1); }

}  // extern "C"

namespace vicinal::mpi::retirement_tests {
namespace {

using namespace testing;

/// Makes progress until `done`; returns false if that takes too long.
template <class Done>
bool finish(Done done) {
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(60);
  poll_until([&] { return done() || std::chrono::steady_clock::now() > deadline; });
  return done();
}

/// Returns the number of communicators once earlier cases had time to free theirs. After a failure,
/// a rank may never free some.
int live_when_idle() {
  MPI_Barrier(MPI_COMM_WORLD);
  finish_deferred(std::chrono::milliseconds(500));
  MPI_Barrier(MPI_COMM_WORLD);
  return live_communicators;
}

void check_reclaimed(int before) {
  CHECK(finish([&] { return live_communicators <= before; }));
}

TEST(freeing_a_communicator_waits_for_nobody) {
  const int rank = world_rank(), size = world_size(), before = live_when_idle();
  for (int round = 0; round < 5; ++round) {
    Duplicate comm;
    Communicator::of(comm);
    // The other ranks free theirs only after they have learned that this one is free.
    if (rank == round % size) {
      comm.free();
      for (int other = 0; other < size; ++other) {
        if (other != rank) MPI_Send(nullptr, 0, MPI_INT, other, 17, MPI_COMM_WORLD);
      }
    } else {
      MPI_Recv(nullptr, 0, MPI_INT, round % size, 17, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
      comm.free();
    }
  }
  check_reclaimed(before);
}

TEST(communicators_freed_in_any_order_are_reclaimed) {
  const int before = live_when_idle();
  constexpr int many = 6;
  for (int round = 0; round < 3; ++round) {
    std::vector<std::unique_ptr<Duplicate>> users;
    for (int i = 0; i < many; ++i) {
      users.push_back(std::make_unique<Duplicate>());
      Communicator::of(*users.back());
    }
    for (int i = 0; i < many; ++i) {
      users[static_cast<std::size_t>(around(world_rank() % 2 == 0 ? i : -i, many))]->free();
    }
  }
  check_reclaimed(before);
}

TEST(a_communicator_is_not_freed_before_all_have_let_go) {
  const int rank = world_rank(), size = world_size(), before = live_when_idle();
  if (size < 2) testing::skip("needs 2 ranks");
  Duplicate comm;
  auto held = Communicator::of(comm);
  comm.free();
  const int with_private = live_communicators;
  if (rank != 0) held.reset();
  for (int i = 0; i < 1000; ++i) run_deferred(1);
  CHECK_EQUAL(live_communicators.load(), with_private);
  MPI_Barrier(MPI_COMM_WORLD);
  held.reset();
  check_reclaimed(before);
}

TEST(what_a_fault_leaves_in_progress_is_taken_in) {
  const int rank = world_rank(), size = world_size(), before = live_when_idle();
  for (int round = 0; round < 3; ++round) {
    Duplicate comm;
    auto held = Communicator::of(comm);
    const int next = around(rank + 1, size);
    // No rank ever reads these: a short one, a long one, and one sent synchronously.
    held->mailbox().post({7, 1}, 0, {next, {1, 2}});
    held->mailbox().post({7, 1}, 1, {next, Words(200000, rank)});
    held->mailbox().post({7, 2}, 0, {next, {3}}, true);
    int sent = rank;
    MPI_Request request = MPI_REQUEST_NULL;
    MPI_Isend(&sent, 1, MPI_INT, next, Communicator::data_tag(1, 0, false), held->handle(),
              &request);
    MPI_Request_free(&request);
    held->keep_for_good();
    held.reset();
    comm.free();
    // A later communicator receives none of them.
    Duplicate later;
    const auto other = Communicator::of(later);
    int found = 0;
    MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, other->handle(), &found, MPI_STATUS_IGNORE);
    CHECK_EQUAL(found, 0);
    MPI_Barrier(MPI_COMM_WORLD);  // `sent` is in use until it has been received
  }
  check_reclaimed(before);
}

TEST(deferred_tasks_run_in_turn) {
  live_when_idle();
  // Otherwise the progress thread may run some.
  CHECK(finish([] { return active_count() == 0; }));
  const std::size_t before = deferred_left();
  // The tasks own what they access, so that it outlives them even if a check fails.
  struct Seen {
    std::array<std::atomic<int>, 3> polls = {};
    std::atomic<int> added = 0;
    std::atomic<bool> end = false;
  };
  const auto seen = std::make_shared<Seen>();
  struct Ending {
    std::shared_ptr<Seen> seen;
    ~Ending() { seen->end = true; }
  };
  const Ending ending{seen};
  auto& [polls, added, end] = *seen;
  for (std::size_t i = 0; i < polls.size(); ++i) {
    defer([seen, i] {
      // A deferred task may defer others, and run some, while it runs.
      if (seen->polls[i]++ == 0 && i == 0) {
        defer([seen] { return ++seen->added, seen->end.load(); });
      }
      run_deferred(0);
      return seen->end.load();
    });
  }
  CHECK_EQUAL(deferred_left(), before + polls.size());
  CHECK(!finish_deferred(std::chrono::milliseconds(0)));
  const int polled = polls[0] + polls[1] + polls[2] + added;
  for (int i = 1; i <= 100; ++i) run_deferred(1);
  CHECK(polls[0] + polls[1] + polls[2] + added <= polled + 100);
  // Tasks run in turn: none runs more often than the others.
  CHECK(std::abs(polls[0] - polls[2]) <= 1 && std::abs(polls[1] - polls[2]) <= 1);
  CHECK_EQUAL(deferred_left(), before + polls.size() + 1);
  end = true;
  CHECK(finish([&] { return deferred_left() <= before; }));
}

TEST(a_deferred_task_without_memory_runs_later) {
  const std::size_t before = deferred_left();
  const auto polls = std::make_shared<std::atomic<int>>(0);
  defer([polls] {
    if (++*polls == 1) throw std::bad_alloc();
    return true;
  });
  CHECK(deferred_left() <= before + 1);
  for (int i = 0; i < 1000 && *polls < 2; ++i) run_deferred(deferred_left());
  CHECK_EQUAL(polls->load(), 2);
}

TEST(deferred_tasks_may_run_in_several_threads) {
  live_when_idle();
  constexpr int many = 200;
  std::atomic<int> done = 0;
  std::vector<std::unique_ptr<std::atomic_flag>> busy;
  std::atomic<bool> together = false;
  for (int i = 0; i < many; ++i) {
    busy.push_back(std::make_unique<std::atomic_flag>());
    defer([&, flag = busy.back().get(), polls = 0]() mutable {
      if (flag->test_and_set()) together = true;
      const bool last = ++polls == 20;
      flag->clear();
      if (last) ++done;
      return last;
    });
  }
  std::vector<std::jthread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&] {
      while (done < many) run_deferred(3);
    });
  }
  threads.clear();
  CHECK_EQUAL(done.load(), many);
  CHECK(!together);
}

}  // namespace
}  // namespace vicinal::mpi::retirement_tests
