// Compares this state with an earlier one. Two builds of the library do the same work alternately
// in one process, the earlier build twice. The program prints a line of JSON per operation, with
// the minimum and median time of each contestant. The line also has each rank's processor time and
// context switches per run. The script tools/ratchet.py builds, runs and evaluates this program.
//
//     ratchet EARLIER AGAIN LATER [--only TEXT]
#include <sys/resource.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "library.hpp"
#include "measure.hpp"
#include "works.hpp"

namespace {

using bench::Contestant;
using bench::Library;
using bench::Result;
using bench::Work;
using bench::Worker;
using bench::World;

constexpr double most_of_others = 0.06;   ///< share of the processors that others use
constexpr double most_of_control = 0.04;  ///< deviation of the earlier state from itself
constexpr double slower = 1.05;
constexpr int attempts = 2;

struct Options {
  std::vector<std::string> libraries;
  std::string only;
};

Options read(int argc, char** argv) {
  Options options;
  for (int i = 1; i < argc; ++i) {
    const std::string_view word = argv[i];
    if (word == "--only" && i + 1 < argc) {
      options.only = argv[++i];
    } else {
      options.libraries.emplace_back(word);
    }
  }
  return options;
}

/// The cost of a run for a rank, as the mean over all ranks.
struct Cost {
  double cpu = 0;       ///< seconds of processor time
  double switches = 0;  ///< context switches
};

struct Figures {
  std::vector<Result> results;  ///< earlier, again, later, and MPI's own if present
  std::vector<Cost> costs;      ///< of the same contestants
  double others = 0;
  [[nodiscard]] double control() const { return ratio(results[1], results[0]); }
  [[nodiscard]] double later() const {
    return std::sqrt(ratio(results[2], results[0]) * ratio(results[2], results[1]));
  }
  [[nodiscard]] bool is_noisy() const {
    return others > most_of_others || std::abs(control() - 1) > most_of_control;
  }
  [[nodiscard]] bool is_slower() const { return later() > slower; }
};

Cost cost_of(const World& world, const Contestant& contestant, double seconds) {
  constexpr double budget = 0.05;
  const int runs = std::clamp(static_cast<int>(budget / seconds), 1, 200);
  world.barrier();
  rusage before{}, after{};
  getrusage(RUSAGE_SELF, &before);
  const double begin = bench::now(bench::Clock::cpu);
  for (int i = 0; i < runs; ++i) contestant.iteration();
  const double spent = bench::now(bench::Clock::cpu) - begin;
  getrusage(RUSAGE_SELF, &after);
  const auto switches =
      static_cast<double>(after.ru_nvcsw + after.ru_nivcsw - before.ru_nvcsw - before.ru_nivcsw);
  const double all = static_cast<double>(runs) * world.size();
  return {world.sum(spent) / all, world.sum(switches) / all};
}

Figures measure(const World& world, const std::vector<Contestant>& contestants,
                const bench::Sampling& sampling) {
  const double own = bench::now(bench::Clock::cpu), all = bench::machine_time(),
               begin = bench::now();
  Figures figures{bench::compete(world, contestants, sampling), {}, 0};
  const double spent = world.sum(bench::now(bench::Clock::cpu) - own);
  const auto cores = static_cast<double>(sysconf(_SC_NPROCESSORS_ONLN));
  const double others = (bench::machine_time() - all - spent) / (cores * (bench::now() - begin));
  figures.others = world.largest(std::max(0.0, others));
  for (std::size_t i = 0; i < contestants.size(); ++i) {
    figures.costs.push_back(cost_of(world, contestants[i], figures.results[i].median()));
  }
  return figures;
}

/// Repeats a measurement that is noisy or seems slower, and keeps the one with the least noise.
Figures measure_patiently(const World& world, const std::vector<Contestant>& contestants,
                          const bench::Sampling& sampling) {
  Figures best = measure(world, contestants, sampling);
  for (int attempt = 1; attempt < attempts && (best.is_noisy() || best.is_slower()); ++attempt) {
    Figures again = measure(world, contestants, sampling);
    const auto noise = [](const Figures& it) { return it.others + std::abs(it.control() - 1); };
    if (noise(again) < noise(best)) best = std::move(again);
  }
  return best;
}

void tell(const Work& work, const Figures& figures) {
  std::printf("{\"work\": \"%s\"", work.name.c_str());
  for (std::size_t i = 0; i < figures.results.size(); ++i) {
    const Result& result = figures.results[i];
    const Cost& cost = figures.costs[i];
    std::printf(", \"%s\": [%.2f, %.2f, %.2f, %.1f]", result.name.c_str(), result.minimum() * 1e6,
                result.median() * 1e6, cost.cpu * 1e6, cost.switches);
  }
  std::printf(", \"ratio\": %.4f, \"control\": %.4f, \"others\": %.4f}\n", figures.later(),
              figures.control(), figures.others);
  std::fflush(stdout);
}

void run(const World& world, const Work& work, const std::vector<Library>& libraries) {
  std::vector<std::unique_ptr<Worker>> workers;
  std::vector<Contestant> contestants;
  const auto add = [&](const char* name, std::unique_ptr<Worker> worker) {
    workers.push_back(std::move(worker));
    contestants.push_back({name, [it = workers.back().get()] { it->run(); }});
  };
  const char* const names[] = {"earlier", "again", "later"};
  for (std::size_t i = 0; i < libraries.size(); ++i) add(names[i], work.by_library(libraries[i]));
  if (work.by_mpi) add("mpi", work.by_mpi());
  for (std::size_t i = 0; i < workers.size(); ++i) {
    const int warm_up = i < libraries.size() ? work.warm_up : 1;
    for (int n = 0; n < warm_up; ++n) workers[i]->run();
    world.insist(workers[i]->is_right(),
                 work.name + ": " + contestants[i].name + " delivers wrong values");
  }
  bench::Sampling sampling{8, 0.01};
  sampling.least = work.least;
  if (work.least == 1) sampling.repetitions = 6;
  const Figures figures = measure_patiently(world, contestants, sampling);
  if (world.rank() == 0) tell(work, figures);
}

}  // namespace

int main(int argc, char** argv) {
  World world(&argc, &argv);
  const Options options = read(argc, argv);
  world.insist(options.libraries.size() == 3, "usage: ratchet EARLIER AGAIN LATER [--only TEXT]");
  const std::vector<Library> libraries(options.libraries.begin(), options.libraries.end());
  for (const Work& work : bench::works(world)) {
    if (work.name.find(options.only) == std::string::npos) continue;
    run(world, work, libraries);
  }
  return 0;
}
