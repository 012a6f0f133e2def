// Measures how much of an exchange is hidden by 2 ms of computation that calls no library, on all
// ranks, leaders included. A direct message progresses once it is started. A relayed message waits
// for its leader, which computes, unless the progress thread works for it (the second run). The
// unhidden part is the time of start, computation and wait, minus the time of the computation
// alone.
//
// ranks: 4
// also with: VICINAL_PROGRESS_THREAD=1
#include <vicinal/vicinal.h>

#include <cstdlib>
#include <string>
#include <vector>

#include "measure.hpp"
#include "report.hpp"

namespace {

using bench::World;

constexpr int values_per_edge = 4096;
constexpr double seconds_of_work = 0.002;

/// Arithmetic that takes `seconds_of_work` on a free core; calibrated once.
class Work {
 public:
  explicit Work(const World& world) {
    world.barrier();
    constexpr long trial = 2'000'000;
    const double begin = bench::now(bench::Clock::cpu);
    run(trial);
    const double each = (bench::now(bench::Clock::cpu) - begin) / trial;
    steps_ = static_cast<long>(seconds_of_work / each);
  }
  void operator()() { run(steps_); }

 private:
  void run(long steps) {
    double value = value_;
    for (long i = 0; i < steps; ++i) value = value * 0.999999 + 1e-6;
    value_ = value;
  }
  volatile double value_ = 1;
  long steps_ = 0;
};

}  // namespace

int main(int argc, char** argv) {
  World world(&argc, &argv, MPI_THREAD_MULTIPLE);
  bench::Report report(world, "overlap", argc, argv);
  const char* thread = std::getenv("VICINAL_PROGRESS_THREAD");
  report.heading(thread != nullptr && std::string(thread) == "1" ? "With the progress thread"
                                                                 : "Without the progress thread");
  // Every rank exchanges with every other; regions of two, so that pairs of regions are relayed.
  std::vector<int> neighbours, counts, offsets;
  for (int other = 0; other < world.size(); ++other) {
    if (other == world.rank()) continue;
    offsets.push_back(static_cast<int>(neighbours.size()) * values_per_edge);
    neighbours.push_back(other);
    counts.push_back(values_per_edge);
  }
  const auto degree = static_cast<int>(neighbours.size());
  std::vector<double> sent(neighbours.size() * values_per_edge, 1), received(sent.size());
  MPI_Info info;
  MPI_Info_create(&info);
  MPI_Info_set(info, "vicinal_regions", "blocks:2");
  vicinal_graph graph = VICINAL_GRAPH_NULL;
  vicinal_graph_create_adjacent(world.handle(), degree, neighbours.data(), MPI_UNWEIGHTED, degree,
                                neighbours.data(), MPI_UNWEIGHTED, info, 0, &graph);
  const auto plan = [&](const char* strategy) {
    vicinal_request request = VICINAL_REQUEST_NULL;
    MPI_Info_set(info, "vicinal_strategy", strategy);
    vicinal_neighbor_alltoallv_init(sent.data(), counts.data(), offsets.data(), MPI_DOUBLE,
                                    received.data(), counts.data(), offsets.data(), MPI_DOUBLE,
                                    graph, info, &request);
    return request;
  };
  vicinal_request direct = plan("direct"), aggregate = plan("aggregate");
  MPI_Info_free(&info);

  Work work(world);
  const auto exchange = [](vicinal_request& request) {
    vicinal_start(&request);
    vicinal_wait(&request);
  };
  const auto overlapped = [&](vicinal_request& request) {
    vicinal_start(&request);
    work();
    vicinal_wait(&request);
  };
  const auto results =
      bench::compete(world,
                     {{"computation alone", [&] { work(); }},
                      {"computation alone (again)", [&] { work(); }},
                      {"direct alone", [&] { exchange(direct); }},
                      {"aggregate alone", [&] { exchange(aggregate); }},
                      {"direct around the computation", [&] { overlapped(direct); }},
                      {"aggregate around the computation", [&] { overlapped(aggregate); }}},
                     {15, 0.05, bench::Clock::wall});
  report.table("2 ms of computation, 32 KiB to each rank", results, 0);
  report.heading("Microseconds not hidden behind the computation (median)");
  report.verdict("noise (computation against itself)", difference(results[1], results[0]) * 1e6);
  report.verdict("direct", difference(results[4], results[0]) * 1e6);
  report.verdict("aggregate", difference(results[5], results[0]) * 1e6);

  vicinal_request_free(&direct);
  vicinal_request_free(&aggregate);
  vicinal_graph_free(&graph);
  return 0;
}
