// A program that uses the library on SMPI, the simulated MPI of SimGrid:
//
//     smpirun ... vicinal_smpi FOLDER
//
// FOLDER/cases.txt, written by tools/confirm_library.py, has a line for each case:
//
//     exchange EDGES COUNT STRATEGY    persistent; COUNT values per edge, half of them shared
//                                      with the rank's next edge
//     loop EDGES COUNT STRATEGY        blocking calls with counts; the last ones use a plan
//     halo EDGES COUNT STRATEGY        each rank needs the COUNT values of each source; forward
//                                      and in reverse
//     sparse METHOD MESSAGES COUNT     a sparse exchange; each rank sends MESSAGES messages of
//                                      COUNT values
//
// EDGES is a file of the folder with a line "SOURCE DESTINATION" for each edge, in ascending order.
// The program checks received values and ends with a message if any is wrong. For each case rank 0
// prints "case NUMBER SECONDS": the simulated duration of the last execution. It lasts from a
// common begin of all ranks until the last rank is done. Finally rank 0 prints "checked VALUES".
#include <mpi.h>
#include <smpi/smpi.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <initializer_list>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "looks.hpp"
#include "vicinal/vicinal.h"

namespace {

constexpr double host_speed = 1e9;  // as in the platform
/// After this time, all ranks have left the previous allreduce.
constexpr double pause = 2e-3;
/// Number of executions, of which the last is timed.
constexpr int executions = 3;
constexpr int calls = 12;  ///< in a loop: a plan is used from the ninth on

int rank = 0;
int size = 0;
std::int64_t checked = 0;

[[noreturn]] void end(const std::string& why) {
  std::fprintf(stderr, "vicinal_smpi: rank %d: %s\n", rank, why.c_str());
  std::fflush(stderr);
  MPI_Abort(MPI_COMM_WORLD, 1);
  std::abort();
}

void check(int code) {
  if (code != MPI_SUCCESS) end(vicinal_error_message());
}

/// Returns an integer that differs for each rank, item and execution.
double value_of(int of_rank, int item, int execution) {
  return (static_cast<double>(of_rank) * 65536 + item) * 64 + execution;
}

void compare(double found, double expected, const char* where) {
  ++checked;
  if (found == expected) return;
  std::ostringstream text;
  text << "in " << where << " " << found << " was received, where " << expected << " was sent";
  end(text.str());
}

/// Measures an execution from a common begin of all ranks; a barrier would leave them at different
/// times.
class Stopwatch {
 public:
  /// Waits for the common begin. Without `counts`, polls are longer, to save simulation time.
  explicit Stopwatch(bool counts) {
    const double now = MPI_Wtime();
    double latest = 0;
    MPI_Allreduce(&now, &latest, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    begin_ = latest + pause;
    const double left = begin_ - MPI_Wtime();
    if (left <= 0) end("the ranks took longer than their pause to leave an allreduce");
    smpi_execute_flops(left * host_speed);
    if (counts) let_looks_take(timed_look);
  }
  double stop() {
    let_looks_take(setup_look);
    return MPI_Wtime() - begin_;
  }

 private:
  double begin_ = 0;
};

class Info {
 public:
  Info(std::initializer_list<std::pair<const char*, std::string>> settings) {
    MPI_Info_create(&handle_);
    MPI_Info_set(handle_, "vicinal_local", "messages");
    for (const auto& [key, value] : settings) MPI_Info_set(handle_, key, value.c_str());
  }
  Info(const Info&) = delete;
  Info& operator=(const Info&) = delete;
  ~Info() { MPI_Info_free(&handle_); }
  [[nodiscard]] MPI_Info handle() const { return handle_; }

 private:
  MPI_Info handle_ = MPI_INFO_NULL;
};

/// The edges of all ranks.
struct Edges {
  explicit Edges(const std::string& path) : destinations(static_cast<std::size_t>(size)) {
    std::ifstream file(path);
    int source = 0, destination = 0;
    while (file >> source >> destination) {
      destinations.at(static_cast<std::size_t>(source)).push_back(destination);
      if (destination == rank) sources.push_back(source);
    }
    if (!file.eof()) end(path + " has a line that is no edge");
  }
  [[nodiscard]] const std::vector<int>& mine() const { return of(rank); }
  [[nodiscard]] const std::vector<int>& of(int source) const {
    return destinations.at(static_cast<std::size_t>(source));
  }
  /// Returns the position of the edge to this rank among those of `source`.
  [[nodiscard]] int place_at(int source) const {
    const auto found = std::find(of(source).begin(), of(source).end(), rank);
    return static_cast<int>(found - of(source).begin());
  }

  std::vector<std::vector<int>> destinations;  ///< of each rank
  std::vector<int> sources;                    ///< of this rank
};

class Graph {
 public:
  Graph(const Edges& edges, const std::string& strategy) {
    const Info info{{"vicinal_strategy", strategy}};
    check(vicinal_graph_create_adjacent(MPI_COMM_WORLD, static_cast<int>(edges.sources.size()),
                                        edges.sources.data(), MPI_UNWEIGHTED,
                                        static_cast<int>(edges.mine().size()), edges.mine().data(),
                                        MPI_UNWEIGHTED, info.handle(), 0, &handle_));
  }
  Graph(const Graph&) = delete;
  Graph& operator=(const Graph&) = delete;
  ~Graph() { vicinal_graph_free(&handle_); }
  [[nodiscard]] vicinal_graph handle() const { return handle_; }

 private:
  vicinal_graph handle_ = VICINAL_GRAPH_NULL;
};

/// `values` values on each edge, edge after edge. Item i of a rank's k-th edge is its item k * step
/// + i.
struct Traffic {
  Traffic(const Edges& from, int values, int step_between)
      : edges(from),
        count(values),
        step(step_between),
        send_counts(from.mine().size(), values),
        receive_counts(from.sources.size(), values) {
    for (std::size_t k = 0; k < send_counts.size(); ++k) {
      send_places.push_back(static_cast<int>(k) * count);
      for (int i = 0; i < count; ++i) items.push_back(static_cast<int>(k) * step / 2 + i);
    }
    for (std::size_t k = 0; k < receive_counts.size(); ++k) {
      receive_places.push_back(static_cast<int>(k) * count);
    }
    sent.resize(items.size());
    received.resize(receive_counts.size() * static_cast<std::size_t>(count));
  }
  void fill(int execution) {
    for (std::size_t i = 0; i < items.size(); ++i) {
      sent[i] = value_of(rank, static_cast<int>(items[i]), execution);
    }
    std::fill(received.begin(), received.end(), -1.0);
  }
  void compare_all(int execution, const char* where) const {
    auto value = received.begin();
    for (const int source : edges.sources) {
      const int first = edges.place_at(source) * step / 2;
      for (int i = 0; i < count; ++i) {
        compare(*value++, value_of(source, first + i, execution), where);
      }
    }
  }

  const Edges& edges;
  int count;
  int step;  ///< twice the items between edges
  std::vector<int> send_counts, receive_counts;
  std::vector<int> send_places, receive_places;
  std::vector<std::int64_t> items;
  std::vector<double> sent, received;
};

double exchange(const Edges& edges, int count, const std::string& strategy) {
  const Graph graph(edges, strategy);
  const Info info{{"vicinal_strategy", strategy}};
  Traffic traffic(edges, count, count);
  vicinal_request request = VICINAL_REQUEST_NULL;
  check(vicinal_neighbor_alltoallv_items_init(
      traffic.sent.data(), traffic.send_counts.data(), traffic.send_places.data(),
      traffic.items.data(), MPI_DOUBLE, traffic.received.data(), traffic.receive_counts.data(),
      traffic.receive_places.data(), MPI_DOUBLE, graph.handle(), info.handle(), &request));
  double seconds = 0;
  for (int execution = 0; execution < executions; ++execution) {
    traffic.fill(execution);
    Stopwatch watch(execution + 1 == executions);
    check(vicinal_start(&request));
    check(vicinal_wait(&request));
    seconds = watch.stop();
    traffic.compare_all(execution, "a persistent exchange");
  }
  check(vicinal_request_free(&request));
  return seconds;
}

double loop(const Edges& edges, int count, const std::string& strategy) {
  const Graph graph(edges, strategy);
  Traffic traffic(edges, count, 2 * count);
  double seconds = 0;
  for (int call = 0; call < calls; ++call) {
    traffic.fill(call);
    Stopwatch watch(call + 1 == calls);
    check(vicinal_neighbor_alltoallv(traffic.sent.data(), traffic.send_counts.data(),
                                     traffic.send_places.data(), MPI_DOUBLE,
                                     traffic.received.data(), traffic.receive_counts.data(),
                                     traffic.receive_places.data(), MPI_DOUBLE, graph.handle()));
    seconds = watch.stop();
    traffic.compare_all(call, "a call in a loop");
  }
  return seconds;
}

double halo(const Edges& edges, int count, const std::string& strategy) {
  const Info info{{"vicinal_strategy", strategy}};
  std::vector<std::int64_t> needed;
  for (const int source : edges.sources) {
    for (int i = 0; i < count; ++i) needed.push_back(std::int64_t{source} * count + i);
  }
  const std::int64_t first = std::int64_t{rank} * count;
  vicinal_halo formed = VICINAL_HALO_NULL;
  check(vicinal_halo_create(MPI_COMM_WORLD, first, first + count,
                            static_cast<std::int64_t>(needed.size()), needed.data(), info.handle(),
                            &formed));
  std::vector<double> owned(static_cast<std::size_t>(count)), ghosts(needed.size());
  double seconds = 0;
  for (int execution = 0; execution < executions; ++execution) {
    for (int i = 0; i < count; ++i) {
      owned[static_cast<std::size_t>(i)] = value_of(rank, i, execution);
    }
    Stopwatch watch(execution + 1 == executions);
    check(vicinal_halo_exchange(formed, owned.data(), ghosts.data(), 1, MPI_DOUBLE));
    seconds = watch.stop();
    for (std::size_t i = 0; i < ghosts.size(); ++i) {
      const auto source = static_cast<int>(needed[i] / count);
      compare(ghosts[i], value_of(source, static_cast<int>(needed[i] % count), execution),
              "a halo");
    }
  }
  check(vicinal_halo_reverse(formed, owned.data(), ghosts.data(), 1, MPI_DOUBLE, MPI_SUM));
  const double shares = 1 + static_cast<double>(edges.mine().size());
  for (int i = 0; i < count; ++i) {
    compare(owned[static_cast<std::size_t>(i)], shares * value_of(rank, i, executions - 1),
            "the reverse of a halo");
  }
  check(vicinal_halo_free(&formed));
  return seconds;
}

/// Returns the receiver of a rank's message k. Receivers differ for each k, so each rank receives
/// as many messages as it sends. The ranks of a region send to the whole machine.
int destination_of(int source, int k, int messages) {
  const std::int64_t spread = size % 17 == 0 ? 1 : 17;
  return static_cast<int>((spread * source + 1 + std::int64_t{k} * size / messages) % size);
}

double sparse(const std::string& method, int messages, int count) {
  const Info info{{"vicinal_exchange", method}};
  std::vector<int> destinations;
  std::vector<double> sent;
  double seconds = 0;
  for (int execution = 0; execution < executions; ++execution) {
    destinations.clear();
    sent.clear();
    for (int k = 0; k < messages; ++k) {
      destinations.push_back(destination_of(rank, k, messages));
      for (int i = 0; i < count; ++i) sent.push_back(value_of(rank, k * count + i, execution));
    }
    vicinal_received received = VICINAL_RECEIVED_NULL;
    Stopwatch watch(execution + 1 == executions);
    check(vicinal_sparse_alltoall(sent.data(), messages, destinations.data(), count, MPI_DOUBLE,
                                  MPI_DOUBLE, MPI_COMM_WORLD, info.handle(), &received));
    seconds = watch.stop();
    int found = 0;
    const int* sources = nullptr;
    const void* data = nullptr;
    check(vicinal_received_get(received, &found, &sources, nullptr, nullptr, &data));
    compare(found, messages, "the number of messages of a sparse exchange");
    const auto* value = static_cast<const double*>(data);
    for (int i = 0, k = 0; i < found; ++i, ++k) {
      // Messages of one source arrive in the order in which they were sent.
      if (i == 0 || sources[i] != sources[i - 1]) k = 0;
      while (k < messages && destination_of(sources[i], k, messages) != rank) ++k;
      for (int j = 0; j < count; ++j) {
        compare(*value++, value_of(sources[i], k * count + j, execution), "a sparse exchange");
      }
    }
    check(vicinal_received_free(&received));
  }
  return seconds;
}

double run(const std::string& folder, std::istringstream line) {
  std::string kind, what;
  line >> kind >> what;
  if (kind == "sparse") {
    int messages = 0, count = 0;
    line >> messages >> count;
    return sparse(what, messages, count);
  }
  int count = 0;
  std::string strategy;
  line >> count >> strategy;
  const Edges edges(folder + "/" + what);
  if (kind == "exchange") return exchange(edges, count, strategy);
  if (kind == "loop") return loop(edges, count, strategy);
  if (kind == "halo") return halo(edges, count, strategy);
  end("cases.txt has a case of a kind that is not known: " + kind);
}

}  // namespace

// SMPI looks for this symbol.
[[gnu::visibility("default")]] int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  if (argc != 2) end("give the folder of the cases");
  const std::string folder = argv[1];
  std::ifstream cases(folder + "/cases.txt");
  std::string line;
  for (int number = 0; std::getline(cases, line); ++number) {
    const double seconds = run(folder, std::istringstream(line));
    double longest = 0;
    MPI_Reduce(&seconds, &longest, 1, MPI_DOUBLE, MPI_MAX, 0, MPI_COMM_WORLD);
    if (rank == 0) std::printf("case %d %.12g\n", number, longest);
    if (rank == 0) std::fflush(stdout);
  }
  std::int64_t all = 0;
  MPI_Reduce(&checked, &all, 1, MPI_INT64_T, MPI_SUM, 0, MPI_COMM_WORLD);
  if (rank == 0) std::printf("checked %lld\n", static_cast<long long>(all));
  MPI_Finalize();
  return 0;
}
