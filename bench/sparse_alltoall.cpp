// Measures a case made for aggregation: each rank needs each of every other rank's 64 eight-byte
// values with probability 0.2. These are hundreds of small messages between hosts that could be a
// dozen. The benchmark compares with the MPI's own collective, and with a lower bound for relays.
// The bound is one message of equal size per pair of hosts, between idle ranks. Planning is
// measured in iterations of the MPI's own collective, because it must save that many to pay off.
//
// ranks: 8
// hosts: yes
#include <vicinal/vicinal.h>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "bare_exchange.hpp"
#include "measure.hpp"
#include "negotiate/planner.hpp"
#include "random_exchange.hpp"
#include "report.hpp"

namespace {

using bench::BareExchange;
using bench::Contestant;
using bench::Exchange;
using bench::wanted;
using bench::World;

std::vector<int> regions(const World& world) {
  std::vector<int> region_of(static_cast<std::size_t>(world.size()));
  vicinal_get_regions(world.handle(), region_of.data());
  return region_of;
}

/// Measures each of `times` executions of `action` in seconds, the largest over ranks.
template <class Action>
bench::Result time_each(const World& world, const std::string& name, int times, Action action) {
  bench::Result result{name, {}};
  for (int i = 0; i < times; ++i) result.samples.push_back(bench::measure(world, action, 1));
  return result;
}

void compare_graphs(const World& world, bench::Report& report, const Exchange& exchange,
                    vicinal_graph& graph) {
  std::vector<MPI_Comm> graphs;
  std::vector<vicinal_graph> later;
  std::vector<bench::Result> results;
  const auto mpi = [&] { graphs.push_back(exchange.mpi_graph(world)); };
  results.push_back(time_each(world, "MPI_Dist_graph_create_adjacent, first", 1, mpi));
  results.push_back(time_each(world, "MPI_Dist_graph_create_adjacent, later", 10, mpi));
  results.push_back(time_each(world, "vicinal_graph_create_adjacent, first", 1,
                              [&] { graph = exchange.graph(world); }));
  results.push_back(time_each(world, "vicinal_graph_create_adjacent, later", 10,
                              [&] { later.push_back(exchange.graph(world)); }));
  for (MPI_Comm& communicator : graphs) MPI_Comm_free(&communicator);
  for (vicinal_graph& other : later) vicinal_graph_free(&other);
  results.front().samples.resize(results.back().samples.size(), results.front().samples.front());
  results[2].samples.resize(results.back().samples.size(), results[2].samples.front());
  report.table("Creating the graph", results, 1);
}

}  // namespace

int main(int argc, char** argv) {
  World world(&argc, &argv);
  bench::Report report(world, "sparse_alltoall", argc, argv);
  Exchange exchange(world);
  // All connections exist before any measurement.
  std::vector<int> ones(static_cast<std::size_t>(world.size()), 1);
  for (int i = 0; i < 3; ++i) {
    std::vector<int> others(ones.size());
    MPI_Alltoall(ones.data(), 1, MPI_INT, others.data(), 1, MPI_INT, world.handle());
  }

  vicinal_graph graph = VICINAL_GRAPH_NULL;
  compare_graphs(world, report, exchange, graph);

  vicinal_request aggregate = VICINAL_REQUEST_NULL;
  std::vector<vicinal_request> spare;
  const auto first =
      time_each(world, "first", 1, [&] { aggregate = exchange.plan(graph, "aggregate"); });
  const auto execution = time_each(world, "first", 1, [&] {
    vicinal_start(&aggregate);
    vicinal_wait(&aggregate);
  });
  const auto later =
      time_each(world, "later", 20, [&] { spare.push_back(exchange.plan(graph, "aggregate")); });
  for (vicinal_request& request : spare) vicinal_request_free(&request);

  MPI_Comm mpi_graph = exchange.mpi_graph(world);
  BareExchange bare(world, regions(world), wanted);
  const auto collective = [&] {
    MPI_Neighbor_alltoallv(exchange.sent.data(), exchange.send_counts.data(),
                           exchange.send_offsets.data(), MPI_DOUBLE, exchange.received.data(),
                           exchange.receive_counts.data(), exchange.receive_offsets.data(),
                           MPI_DOUBLE, mpi_graph);
  };
  std::vector<Contestant> contestants{{"MPI_Neighbor_alltoallv", collective},
                                      {"MPI_Neighbor_alltoallv (again)", collective},
                                      {"one bare message per region pair", [&] { bare.run(); }},
                                      {"one bare message (again)", [&] { bare.run(); }}};
  std::vector<vicinal_request> requests;
  requests.reserve(vicinal::planners().size());
  std::size_t aggregate_place = 0;
  for (const vicinal::Planner& planner : vicinal::planners()) {
    if (!vicinal::serves(planner, {})) continue;
    const std::string strategy(planner.name);
    if (strategy == "aggregate") aggregate_place = contestants.size();
    vicinal_request& request = requests.emplace_back(exchange.plan(graph, strategy));
    contestants.push_back({"vicinal " + strategy, [&request] {
                             vicinal_start(&request);
                             vicinal_wait(&request);
                           }});
  }
  for (std::size_t i = 0; i < contestants.size(); ++i) {
    if (contestants[i].name.starts_with("one bare")) continue;
    std::fill(exchange.received.begin(), exchange.received.end(), -1);
    contestants[i].iteration();
    world.insist(exchange.received == exchange.expected,
                 contestants[i].name + " delivers wrong values");
  }

  const auto results = bench::compete(world, contestants, {});
  report.table("One exchange", results, 0);
  report.heading("Figures");
  report.verdict("aggregate / MPI_Neighbor_alltoallv", ratio(results[aggregate_place], results[0]),
                 0.125);
  report.verdict("aggregate / bare exchange", ratio(results[aggregate_place], results[2]), 2.5);
  const double iteration = results[0].median();
  report.verdict("first plan, in iterations of the MPI's own", first.median() / iteration, 10);
  report.verdict("later plans, in iterations of the MPI's own", later.median() / iteration, 5);
  report.verdict("first execution, in iterations of the MPI's own", execution.median() / iteration);
  report.verdict("first plan, ms", first.median() * 1e3);
  report.verdict("later plans, ms", later.median() * 1e3);

  for (vicinal_request& request : requests) vicinal_request_free(&request);
  vicinal_request_free(&aggregate);
  vicinal_graph_free(&graph);
  MPI_Comm_free(&mpi_graph);
  return 0;
}
