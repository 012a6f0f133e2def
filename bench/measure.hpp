// Measurement of benchmarks. On a busy machine two runs of one contestant differ by more than two
// contestants do. So the contestants alternate in short batches, and one of them runs twice. The
// difference between its two runs is noise, and is printed with the other differences. Figures are
// means per iteration, the largest over ranks, since an exchange is as slow as its last rank.
#pragma once

#include <mpi.h>
#include <sched.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdio>
#include <fstream>
#include <functional>
#include <string>
#include <utility>
#include <vector>

namespace bench {

/// Initializes and finalizes MPI, and owns the program's communicator.
class World {
 public:
  World(int* argc, char*** argv, int threads = MPI_THREAD_SINGLE) {
    int given = 0;
    MPI_Init_thread(argc, argv, threads, &given);
    if (given < threads) {
      std::fprintf(stderr, "this MPI does not allow threads as the benchmark needs them\n");
      MPI_Abort(MPI_COMM_WORLD, 1);
    }
    MPI_Comm_dup(MPI_COMM_WORLD, &communicator_);
    MPI_Comm_rank(communicator_, &rank_);
    MPI_Comm_size(communicator_, &size_);
  }
  World(const World&) = delete;
  World& operator=(const World&) = delete;
  ~World() {
    MPI_Comm_free(&communicator_);
    MPI_Finalize();
  }
  [[nodiscard]] MPI_Comm handle() const { return communicator_; }
  [[nodiscard]] int rank() const { return rank_; }
  [[nodiscard]] int size() const { return size_; }

  /// Waits by testing and yielding: a rank that spins in a blocking call takes the core that the
  /// awaited rank needs.
  static void wait(MPI_Request& request) {
    for (int done = 0; done == 0;) {
      MPI_Test(&request, &done, MPI_STATUS_IGNORE);
      if (done == 0) sched_yield();
    }
  }
  static void wait_all(std::vector<MPI_Request>& requests) {
    for (int done = 0; done == 0;) {
      MPI_Testall(static_cast<int>(requests.size()), requests.data(), &done, MPI_STATUSES_IGNORE);
      if (done == 0) sched_yield();
    }
  }
  void barrier() const {
    MPI_Request request;
    MPI_Ibarrier(communicator_, &request);
    wait(request);
  }
  [[nodiscard]] double largest(double mine) const { return reduce(mine, MPI_MAX); }
  [[nodiscard]] double sum(double mine) const { return reduce(mine, MPI_SUM); }

  /// Ends all ranks unless the condition holds, because figures would be meaningless.
  void insist(bool condition, const std::string& what) const {
    if (condition) return;
    std::fprintf(stderr, "rank %d: %s\n", rank_, what.c_str());
    MPI_Abort(MPI_COMM_WORLD, 1);
  }

 private:
  [[nodiscard]] double reduce(double mine, MPI_Op op) const {
    double all = 0;
    MPI_Request request;
    MPI_Iallreduce(&mine, &all, 1, MPI_DOUBLE, op, communicator_, &request);
    wait(request);
    return all;
  }

  MPI_Comm communicator_ = MPI_COMM_NULL;
  int rank_ = 0;
  int size_ = 1;
};

enum class Clock {
  wall,
  cpu,  ///< of this process, all its threads
};

/// Returns seconds.
inline double now(Clock clock = Clock::wall) {
  timespec time{};
  clock_gettime(clock == Clock::wall ? CLOCK_MONOTONIC : CLOCK_PROCESS_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

/// Returns the processor time in seconds that the whole machine has used; 0 where unknown.
inline double machine_time() {
  std::ifstream file("/proc/stat");
  std::string cpu;
  double user = 0, nice = 0, system = 0, idle = 0, iowait = 0, irq = 0, softirq = 0;
  file >> cpu >> user >> nice >> system >> idle >> iowait >> irq >> softirq;
  return (user + nice + system + irq + softirq) / static_cast<double>(sysconf(_SC_CLK_TCK));
}

inline double quantile(std::vector<double> values, double part) {
  if (values.empty()) return 0;
  std::sort(values.begin(), values.end());
  const double place = part * static_cast<double>(values.size() - 1);
  const auto low = static_cast<std::size_t>(place);
  const std::size_t high = std::min(low + 1, values.size() - 1);
  return std::lerp(values[low], values[high], place - static_cast<double>(low));
}

struct Contestant {
  std::string name;
  std::function<void()> iteration;
};

/// Seconds per iteration of one contestant, one sample per batch.
struct Result {
  std::string name;
  std::vector<double> samples;
  [[nodiscard]] double minimum() const { return quantile(samples, 0); }
  [[nodiscard]] double median() const { return quantile(samples, 0.5); }
};

/// Returns the median over the batches of `a` / `b`: the samples are close in time, so that a slow
/// second of the machine affects both.
inline double ratio(const Result& a, const Result& b) {
  std::vector<double> ratios;
  for (std::size_t i = 0; i < a.samples.size(); ++i) ratios.push_back(a.samples[i] / b.samples[i]);
  return quantile(std::move(ratios), 0.5);
}

/// As ratio(), for differences; `part` is the quantile.
inline double difference(const Result& a, const Result& b, double part = 0.5) {
  std::vector<double> differences;
  for (std::size_t i = 0; i < a.samples.size(); ++i) {
    differences.push_back(a.samples[i] - b.samples[i]);
  }
  return quantile(std::move(differences), part);
}

struct Sampling {
  int repetitions = 21;
  double batch_seconds = 0.03;  ///< about how long a batch lasts
  Clock clock = Clock::wall;
  int least = 3;  ///< minimum of iterations in a batch
};

/// Measures one batch: seconds per iteration, the largest over ranks.
inline double measure(const World& world, const std::function<void()>& iteration, int iterations,
                      Clock clock = Clock::wall) {
  world.barrier();
  const double begin = now(clock);
  for (int i = 0; i < iterations; ++i) iteration();
  const double mean = (now(clock) - begin) / iterations;
  return world.largest(mean);
}

/// Returns the order of the contestants in a repetition. A contestant is up to a quarter faster or
/// slower after a slow one than after a fast one. So in as many repetitions as there are
/// contestants, each follows each other equally often (Williams 1949: designs balanced for residual
/// effects). An odd number of contestants needs twice as many repetitions.
inline std::vector<std::size_t> order_of(int repetition, std::size_t contestants) {
  const int count = static_cast<int>(contestants);
  std::vector<std::size_t> order;
  for (int place = 0; place < count; ++place) {
    const int step = (place + 1) / 2 * (place % 2 == 1 ? 1 : -1);
    order.push_back(static_cast<std::size_t>(((repetition + step) % count + count) % count));
  }
  if (count % 2 == 1 && repetition % 2 == 1) std::reverse(order.begin(), order.end());
  return order;
}

/// Measures the contestants in alternating batches. Collective. The first batch of each only warms
/// up and determines the number of iterations per batch.
inline std::vector<Result> compete(const World& world, const std::vector<Contestant>& contestants,
                                   const Sampling& sampling) {
  std::vector<Result> results;
  std::vector<int> iterations;
  for (const Contestant& contestant : contestants) {
    results.push_back({contestant.name, {}});
    measure(world, contestant.iteration, sampling.least);
    const double once = measure(world, contestant.iteration, sampling.least);
    iterations.push_back(
        std::clamp(static_cast<int>(sampling.batch_seconds / once), sampling.least, 1'000'000));
  }
  for (int repetition = 0; repetition < sampling.repetitions; ++repetition) {
    for (const std::size_t i : order_of(repetition, contestants.size())) {
      results[i].samples.push_back(
          measure(world, contestants[i].iteration, iterations[i], sampling.clock));
    }
  }
  return results;
}

}  // namespace bench
