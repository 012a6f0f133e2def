// Several threads, each with its own requests, on one communicator or several; and the progress
// thread, if the environment enables it.
#include <array>
#include <cstdlib>
#include <exception>
#include <functional>
#include <thread>

#include "mpi/environment.hpp"
#include "world.hpp"

namespace vicinal::threads_tests {
namespace {

using namespace testing;

/// Runs each task in its own thread, and rethrows the first exception.
void run_at_once(const std::vector<std::function<void()>>& tasks) {
  std::vector<std::exception_ptr> faults(tasks.size());
  std::vector<std::thread> threads;
  for (std::size_t i = 0; i < tasks.size(); ++i) {
    threads.emplace_back([&, i] {
      try {
        tasks[i]();
      } catch (...) {
        faults[i] = std::current_exception();
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (const std::exception_ptr& fault : faults) {
    if (fault) std::rethrow_exception(fault);
  }
}

int rounds() { return world_size() <= 4 ? 200 : 20; }

}  // namespace

TEST(threads_with_communicators_of_their_own) {
  if (!mpi::thread_multiple()) skip("needs MPI_THREAD_MULTIPLE");
  const std::array<Duplicate, 2> comms{Duplicate(), Duplicate()};
  std::vector<std::function<void()>> tasks;
  for (int i = 0; i < 2; ++i) {
    tasks.emplace_back([&comms, i] {
      // Both planning and execution.
      const Shifts shifts(comms[static_cast<std::size_t>(i)], {1, -2, 3}, few_regions(world_size()),
                          i);
      for (const char* strategy : {"aggregate", "direct"}) {
        Exchange exchange(shifts, strategy);
        for (int round = 0; round < rounds() / 2; ++round) exchange.run(round);
      }
    });
  }
  run_at_once(tasks);
}

TEST(threads_with_one_communicator) {
  if (!mpi::thread_multiple()) skip("needs MPI_THREAD_MULTIPLE");
  const Duplicate comm;
  const Shifts near(comm, {1, -2, 3}, few_regions(world_size()), 1);
  const Shifts far(comm, {2, 5}, "round-robin:2", 2);
  Exchange first(near, "aggregate"), second(far, "split"), third(near, "aggregate");
  run_at_once({[&] {
                 for (int round = 0; round < rounds(); ++round) first.run(round);
               },
               [&] {
                 for (int round = 0; round < rounds(); ++round) {
                   second.start(round);
                   third.start(round);
                   second.wait();
                   third.wait();
                 }
               },
               [&] {
                 // Meanwhile, plans of another graph, and progress for all threads.
                 const Shifts more(comm, {1}, "node", 3);
                 for (int i = 0; i < rounds() / 10; ++i) Exchange(more, "aggregate").run(i);
                 for (int i = 0; i < 100; ++i) SUCCEEDS(vicinal_progress());
               }});
}

TEST(the_progress_thread_relays_while_the_program_computes) {
  const char* wish = std::getenv("VICINAL_PROGRESS_THREAD");
  if (wish == nullptr || std::string(wish) != "1" || !mpi::thread_multiple()) {
    skip("needs VICINAL_PROGRESS_THREAD=1 and MPI_THREAD_MULTIPLE");
  }
  const Duplicate comm;
  std::vector<int> shifts;
  for (int shift = 1; shift < world_size(); ++shift) shifts.push_back(shift);
  const Shifts all(comm, shifts, few_regions(world_size()));
  Exchange exchange(all, "aggregate");
  for (int round = 0; round < 3; ++round) {
    exchange.start(round);
    // All other ranks, including leaders, block inside MPI until rank 0 has all its data.
    int token = 0;
    if (world_rank() == 0) {
      exchange.wait();
      for (int rank = 1; rank < world_size(); ++rank) MPI_Send(&token, 1, MPI_INT, rank, 0, comm);
    } else {
      MPI_Recv(&token, 1, MPI_INT, 0, 0, comm, MPI_STATUS_IGNORE);
      exchange.wait();
    }
  }
}

}  // namespace vicinal::threads_tests
