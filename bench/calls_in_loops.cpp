// Measures calls in a loop, as unmodified programs make them, most often with equal counts. The
// calls of a graph get a plan after a few calls. The benchmark compares the calls with MPI's own,
// and with a persistent request, which has a plan before its first use. It also measures the calls
// before the plan, counts that change on one edge in every call, and two alternating sets of
// counts.
//
// ranks: 8
// also on ranks: 2
// hosts: yes
#include <vicinal/vicinal.h>

#include <algorithm>
#include <cstddef>
#include <functional>
#include <string>
#include <vector>

#include "measure.hpp"
#include "random_exchange.hpp"
#include "report.hpp"

namespace {

using bench::Contestant;
using bench::Exchange;
using bench::World;

constexpr int calls_from_the_first = 200;

/// Executes the calls by MPI, or by vicinal on a graph of its own.
class Caller {
 public:
  Caller(const World& world, Exchange& exchange, bool is_vicinal) : exchange_(exchange) {
    if (is_vicinal) {
      graph_ = exchange.graph(world);
    } else {
      communicator_ = exchange.mpi_graph(world);
    }
  }
  Caller(const Caller&) = delete;
  Caller& operator=(const Caller&) = delete;
  ~Caller() {
    if (graph_ != VICINAL_GRAPH_NULL) vicinal_graph_free(&graph_);
    if (communicator_ != MPI_COMM_NULL) MPI_Comm_free(&communicator_);
  }

  void blocking() { blocking(exchange_.send_counts, exchange_.receive_counts); }
  void blocking(const std::vector<int>& send, const std::vector<int>& receive) {
    if (graph_ != VICINAL_GRAPH_NULL) {
      vicinal_neighbor_alltoallv(exchange_.sent.data(), send.data(), exchange_.send_offsets.data(),
                                 MPI_DOUBLE, exchange_.received.data(), receive.data(),
                                 exchange_.receive_offsets.data(), MPI_DOUBLE, graph_);
    } else {
      MPI_Neighbor_alltoallv(exchange_.sent.data(), send.data(), exchange_.send_offsets.data(),
                             MPI_DOUBLE, exchange_.received.data(), receive.data(),
                             exchange_.receive_offsets.data(), MPI_DOUBLE, communicator_);
    }
  }
  void nonblocking() {
    if (graph_ != VICINAL_GRAPH_NULL) {
      vicinal_request request = VICINAL_REQUEST_NULL;
      vicinal_ineighbor_alltoallv(exchange_.sent.data(), exchange_.send_counts.data(),
                                  exchange_.send_offsets.data(), MPI_DOUBLE,
                                  exchange_.received.data(), exchange_.receive_counts.data(),
                                  exchange_.receive_offsets.data(), MPI_DOUBLE, graph_, &request);
      vicinal_wait(&request);
    } else {
      MPI_Request request = MPI_REQUEST_NULL;
      MPI_Ineighbor_alltoallv(exchange_.sent.data(), exchange_.send_counts.data(),
                              exchange_.send_offsets.data(), MPI_DOUBLE, exchange_.received.data(),
                              exchange_.receive_counts.data(), exchange_.receive_offsets.data(),
                              MPI_DOUBLE, communicator_, &request);
      World::wait(request);
    }
  }

 private:
  Exchange& exchange_;
  vicinal_graph graph_ = VICINAL_GRAPH_NULL;
  MPI_Comm communicator_ = MPI_COMM_NULL;
};

/// Counts that never exceed the exchange's.
struct Counts {
  std::vector<int> send;
  std::vector<int> receive;
};

/// Reduces the counts of the edge to the next rank by `number` % 7, on both its ends.
Counts with_one_edge_changed(const World& world, const Exchange& exchange, int number) {
  Counts counts{exchange.send_counts, exchange.receive_counts};
  const int lost = number % 7;
  const auto place = [&](int peer) {
    const auto& all = exchange.neighbours;
    return static_cast<std::size_t>(std::find(all.begin(), all.end(), peer) - all.begin());
  };
  int& sent = counts.send[place((world.rank() + 1) % world.size())];
  int& received = counts.receive[place((world.rank() + world.size() - 1) % world.size())];
  sent = std::max(sent - lost, 0);
  received = std::max(received - lost, 0);
  return counts;
}

/// Halves all counts in every second call.
Counts of_two_sets(const Exchange& exchange, int number) {
  Counts counts{exchange.send_counts, exchange.receive_counts};
  if (number % 2 == 0) return counts;
  for (int& count : counts.send) count /= 2;
  for (int& count : counts.receive) count /= 2;
  return counts;
}

/// Measures the first calls on a new graph, without its creation.
bench::Result from_the_first(const World& world, Exchange& exchange, bool is_vicinal,
                             const std::string& name) {
  bench::Result result{name, {}};
  for (int repetition = 0; repetition < 5; ++repetition) {
    Caller caller(world, exchange, is_vicinal);
    result.samples.push_back(
        bench::measure(world, [&] { caller.blocking(); }, calls_from_the_first));
  }
  return result;
}

}  // namespace

int main(int argc, char** argv) {
  World world(&argc, &argv);
  bench::Report report(world, "calls_in_loops", argc, argv);
  Exchange exchange(world);
  Caller mpi(world, exchange, false), ours(world, exchange, true), changing(world, exchange, true),
      alternating(world, exchange, true), inonblocking(world, exchange, true);
  vicinal_graph graph = exchange.graph(world);
  vicinal_request request = VICINAL_REQUEST_NULL;
  vicinal_neighbor_alltoallv_init(
      exchange.sent.data(), exchange.send_counts.data(), exchange.send_offsets.data(), MPI_DOUBLE,
      exchange.received.data(), exchange.receive_counts.data(), exchange.receive_offsets.data(),
      MPI_DOUBLE, graph, MPI_INFO_NULL, &request);
  int mpi_changes = 0, our_changes = 0, mpi_calls = 0, our_calls = 0;
  const auto run = [](Caller& caller, const Counts& counts) {
    caller.blocking(counts.send, counts.receive);
  };
  std::vector<Contestant> contestants{
      {"MPI_Neighbor_alltoallv", [&] { mpi.blocking(); }},
      {"MPI_Neighbor_alltoallv (again)", [&] { mpi.blocking(); }},
      {"MPI_Ineighbor_alltoallv", [&] { mpi.nonblocking(); }},
      {"vicinal_neighbor_alltoallv", [&] { ours.blocking(); }},
      {"vicinal_ineighbor_alltoallv", [&] { inonblocking.nonblocking(); }},
      {"vicinal, persistent",
       [&] {
         vicinal_start(&request);
         vicinal_wait(&request);
       }},
      {"MPI, one edge changes",
       [&] { run(mpi, with_one_edge_changed(world, exchange, mpi_changes++)); }},
      {"vicinal, one edge changes",
       [&] { run(changing, with_one_edge_changed(world, exchange, our_changes++)); }},
      {"MPI, two sets in turn", [&] { run(mpi, of_two_sets(exchange, mpi_calls++)); }},
      {"vicinal, two sets in turn", [&] { run(alternating, of_two_sets(exchange, our_calls++)); }}};
  // Until plans are in effect and have been replanned.
  for (int call = 0; call < 40; ++call) {
    for (const std::size_t place : {3, 4, 7, 9}) contestants[place].iteration();
  }
  for (std::size_t place = 0; place < 6; ++place) {
    std::fill(exchange.received.begin(), exchange.received.end(), -1);
    contestants[place].iteration();
    world.insist(exchange.received == exchange.expected,
                 contestants[place].name + " delivers wrong values");
  }
  const auto results = bench::compete(world, contestants, {});
  report.table("One call", results, 0);
  report.heading("Figures");
  report.verdict("vicinal / MPI, blocking", ratio(results[3], results[0]), 0.2);
  report.verdict("vicinal / MPI, nonblocking", ratio(results[4], results[2]), 0.2);
  report.verdict("vicinal call / persistent", ratio(results[3], results[5]), 1.15);
  report.verdict("vicinal / MPI, one edge changes", ratio(results[7], results[6]), 1);
  report.verdict("vicinal / MPI, two sets in turn", ratio(results[9], results[8]), 0.25);

  const auto theirs = from_the_first(world, exchange, false, "MPI, 200 calls from the first");
  const auto all = from_the_first(world, exchange, true, "vicinal, 200 calls from the first");
  report.table("From the first call", {theirs, all}, 0);
  report.heading("Figures");
  report.verdict("vicinal / MPI, 200 calls from the first", ratio(all, theirs), 1.0 / 3);

  vicinal_request_free(&request);
  vicinal_graph_free(&graph);
  return 0;
}
