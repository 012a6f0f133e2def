// The neighborhood collectives in all forms. For any graph, planner and datatypes, receive buffers
// hold what the neighbors sent, and nothing else is written.
#include "family.hpp"

#include <algorithm>
#include <memory>
#include <numeric>
#include <random>
#include <string>

#include "negotiate/planner.hpp"

namespace vicinal::family_tests {
namespace {

using namespace testing;

/// Draws random edges among all ranks, with repetitions, self-edges, and ranks without edges. If
/// `mutual`, each edge has its reverse, as in an undirected graph.
Wiring random_wiring(unsigned seed, bool mutual, std::vector<int>& my_sources) {
  std::mt19937 random(seed);
  const int size = world_size();
  const auto pick = [&](int from, int to) {
    return std::uniform_int_distribution<int>(from, to)(random);
  };
  const auto at = [](int i) { return static_cast<std::size_t>(i); };
  std::vector<std::vector<int>> to(at(size)), from(at(size));
  std::vector<bool> alone;
  for (int rank = 0; rank < size; ++rank) alone.push_back(size > 2 && pick(0, 5) == 0);
  const auto draw = [&] {
    int rank = 0;
    do rank = pick(0, size - 1);
    while (alone[at(rank)]);
    return rank;
  };
  alone[0] = false;
  for (int edge = pick(size, 3 * size); edge > 0; --edge) {
    const int a = draw(), b = pick(0, 5) == 0 ? a : draw();
    to[at(a)].push_back(b);
    from[at(b)].push_back(a);
    if (mutual && a != b) {
      to[at(b)].push_back(a);
      from[at(a)].push_back(b);
    }
  }
  for (auto& list : to) std::shuffle(list.begin(), list.end(), random);
  for (auto& list : from) std::shuffle(list.begin(), list.end(), random);
  if (mutual) from = to;
  my_sources = from[at(world_rank())];
  return Wiring::paired(to, from);
}

/// Returns a Cartesian grid over the first ranks of the world; -1 marks neighbors outside.
Wiring cartesian_wiring(const std::vector<int>& sizes, const std::vector<int>& periods, int cells) {
  Wiring wiring;
  const auto dimensions = sizes.size();
  for (int rank = 0; rank < cells; ++rank) {
    auto& destinations = wiring.destinations.emplace_back(2 * dimensions, -1);
    auto& origins = wiring.origins.emplace_back(2 * dimensions);
    int stride = cells;
    for (std::size_t d = 0; d < dimensions; ++d) {
      stride /= sizes[d];
      const int place = rank / stride % sizes[d];
      for (const int step : {-1, 1}) {
        const std::size_t entry = 2 * d + (step > 0 ? 1 : 0);
        const int moved = place + step;
        if (periods[d] == 0 && (moved < 0 || moved >= sizes[d])) continue;
        const int there = rank + (around(moved, sizes[d]) - place) * stride;
        destinations[entry] = there;
        // The neighbor sent these data in the opposite direction.
        origins[entry] = {there, static_cast<int>(2 * d) + (step > 0 ? 0 : 1)};
      }
    }
  }
  return wiring;
}

/// Runs all collectives in all forms on a graph that `create` makes from hints. `complete` selects
/// the planners that serve complete graphs only.
template <class Create>
void run_family(const std::string& what, const Wiring& wiring, unsigned seed, Create create,
                bool complete = false) {
  const Kinds kinds;
  const int size = world_size();
  int iteration = static_cast<int>(seed);
  const std::string regions[] = {few_regions(size), "round-robin:3", "node"};
  for (const Planner& planner : planners()) {
    if (planner.complete_only != complete) continue;
    // With many ranks, where planning takes long, each run uses only some planners.
    if (size > 4 && (iteration++ + static_cast<int>(seed)) % (size > 8 ? 4 : 2) != 0) continue;
    const std::string strategy(planner.name);
    const Hints hints{{"vicinal_strategy", strategy},
                      {"vicinal_allgather", complete ? strategy : "automatic"},
                      {"vicinal_radix", std::to_string(iteration % 4 == 1 ? 0 : 2 + iteration % 4)},
                      {"vicinal_regions", regions[seed % 3]},
                      {"vicinal_local", iteration % 2 == 0 ? "shared" : "messages"},
                      {"vicinal_idle_ranks", iteration % 3 == 0 ? "lead" : "rest"}};
    GraphHandle graph;
    SUCCEEDS(create(hints, &graph));
    for (const Op op : all_ops) {
      if (!planner.one_block_only.empty() && !gathers(op)) continue;
      for (const Form form : {Form::persistent, Form::blocking, Form::nonblocking}) {
        const int salt = iteration++;
        Collective collective(wiring, kinds, op, salt);
        RequestHandle request;
        const auto call = [&] {
          return collective.call(form, iteration % 2 == 0, graph, hints, &request);
        };
        std::string which = what;
        which.append(", ").append(strategy).append(", form ");
        which.append(std::to_string(static_cast<int>(form)));
        if (form == Form::persistent) SUCCEEDS(call());
        for (int round = 1; round <= 2; ++round) {
          collective.fill(round);
          SUCCEEDS(form == Form::persistent ? vicinal_start(&request) : call());
          if (form != Form::blocking) SUCCEEDS(vicinal_wait(&request));
          CHECK_EQUAL(static_cast<vicinal_request>(request) != nullptr, form == Form::persistent);
          collective.verify(which);
        }
      }
    }
  }
}

/// Owns a communicator with a topology.
class WithTopology {
 public:
  explicit WithTopology(MPI_Comm comm) : comm_(comm) {}
  WithTopology(const WithTopology&) = delete;
  WithTopology& operator=(const WithTopology&) = delete;
  ~WithTopology() {
    if (comm_ != MPI_COMM_NULL) MPI_Comm_free(&comm_);
  }
  operator MPI_Comm() const { return comm_; }

 private:
  MPI_Comm comm_;
};

void run_cartesian(const std::vector<int>& sizes, const std::vector<int>& periods) {
  int cells = 1;
  for (const int size : sizes) cells *= size;
  if (cells == 0 || cells > world_size()) return;
  MPI_Comm made = MPI_COMM_NULL;
  MPI_Cart_create(MPI_COMM_WORLD, static_cast<int>(sizes.size()), sizes.data(), periods.data(), 0,
                  &made);
  if (made == MPI_COMM_NULL) return;
  const WithTopology comm(made);
  MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
  std::string what = "a grid";
  for (std::size_t d = 0; d < sizes.size(); ++d) {
    what += " x " + std::to_string(sizes[d]) + (periods[d] != 0 ? " around" : "");
  }
  run_family(what, cartesian_wiring(sizes, periods, cells), static_cast<unsigned>(cells),
             [&](MPI_Info info, vicinal_graph* graph) {
               return vicinal_graph_create_from_topology(comm, info, graph);
             });
}

}  // namespace

TEST(family_on_random_graphs) {
  for (unsigned seed = 0; seed < 3; ++seed) {
    const Duplicate comm;
    std::vector<int> sources;
    const Wiring wiring = random_wiring(seed, false, sources);
    run_family("random edges", wiring, seed, [&](MPI_Info info, vicinal_graph* graph) {
      return create_graph(comm, sources, wiring.mine(), info, graph);
    });
  }
}

TEST(family_on_distributed_graphs) {
  std::vector<int> sources;
  const Wiring wiring = random_wiring(7, false, sources);
  const auto& destinations = wiring.mine();
  // The library ignores the weights.
  const std::vector<int> in(sources.size(), 3), out(destinations.size(), 4);
  MPI_Comm made = MPI_COMM_NULL;
  MPI_Dist_graph_create_adjacent(
      MPI_COMM_WORLD, static_cast<int>(sources.size()), sources.data(),
      in.empty() ? MPI_WEIGHTS_EMPTY : in.data(), static_cast<int>(destinations.size()),
      destinations.data(), out.empty() ? MPI_WEIGHTS_EMPTY : out.data(), MPI_INFO_NULL, 0, &made);
  const WithTopology comm(made);
  run_family("a distributed graph", wiring, 7, [&](MPI_Info info, vicinal_graph* graph) {
    return vicinal_graph_create_from_topology(comm, info, graph);
  });
}

TEST(family_on_graph_topologies) {
  std::vector<int> sources;
  const Wiring wiring = random_wiring(11, true, sources);
  std::vector<int> index, edges;
  for (const std::vector<int>& list : wiring.destinations) {
    edges.insert(edges.end(), list.begin(), list.end());
    index.push_back(static_cast<int>(edges.size()));
  }
  MPI_Comm made = MPI_COMM_NULL;
  MPI_Graph_create(MPI_COMM_WORLD, world_size(), index.data(), edges.data(), 0, &made);
  const WithTopology comm(made);
  run_family("a graph", wiring, 11, [&](MPI_Info info, vicinal_graph* graph) {
    return vicinal_graph_create_from_topology(comm, info, graph);
  });
}

TEST(family_on_cartesian_grids) {
  const int size = world_size();
  run_cartesian({1}, {1});
  run_cartesian({2}, {1});
  run_cartesian({size}, {0});
  run_cartesian({size}, {1});
  run_cartesian({2, 1}, {1, 1});
  run_cartesian({3, 2}, {1, 1});
  run_cartesian({2, size / 2}, {0, 1});
  run_cartesian({1, 2, 2}, {1, 0, 1});
  run_cartesian({2, 3, 2}, {1, 1, 0});
  run_cartesian({}, {});
}

TEST(graphs_from_one_side_are_those_from_both) {
  const Duplicate comm;
  for (unsigned seed = 30; seed < 42; ++seed) {
    std::vector<int> sources;
    const Wiring wiring = random_wiring(seed, false, sources);
    for (const bool by_sources : {false, true}) {
      const std::vector<int>& known = by_sources ? sources : wiring.mine();
      const auto create =
          by_sources ? vicinal_graph_create_from_sources : vicinal_graph_create_from_destinations;
      GraphHandle graph;
      SUCCEEDS(create(comm, static_cast<int>(known.size()), known.data(),
                      Hints{{"vicinal_regions", few_regions(world_size())}}, &graph));
      int in = -1, out = -1;
      SUCCEEDS(vicinal_graph_neighbors(graph, &in, nullptr, &out, nullptr));
      std::vector<int> from(static_cast<std::size_t>(in)), to(static_cast<std::size_t>(out));
      SUCCEEDS(vicinal_graph_neighbors(graph, nullptr, from.data(), nullptr, to.data()));
      CHECK(known == (by_sources ? from : to));
      std::vector<int> expected = by_sources ? wiring.mine() : sources;
      std::sort(expected.begin(), expected.end());
      CHECK(expected == (by_sources ? to : from));
    }
  }
}

TEST(a_rank_out_of_range_on_one_side_is_told_to_all) {
  const Duplicate comm;
  const int wrong = world_size();
  GraphHandle graph;
  const int code = vicinal_graph_create_from_sources(comm, world_rank() == 0 ? 1 : 0, &wrong,
                                                     MPI_INFO_NULL, &graph);
  CHECK_EQUAL(code, world_rank() == 0 ? MPI_ERR_RANK : MPI_ERR_OTHER);
}

TEST(family_and_allgathers_on_complete_graphs) {
  const Duplicate comm;
  std::vector<int> all(static_cast<std::size_t>(world_size()));
  std::iota(all.begin(), all.end(), 0);
  const std::vector<std::vector<int>> edges(all.size(), all);
  const Wiring wiring = Wiring::paired(edges, edges);
  for (const unsigned seed : {0U, 1U, 2U}) {
    const auto create = [&](MPI_Info info, vicinal_graph* graph) {
      return vicinal_graph_create_complete(comm, info, graph);
    };
    run_family("a complete graph", wiring, seed, create, true);
    if (seed == 0) run_family("a complete graph", wiring, seed, create);
  }
}

TEST(counts_may_change_from_call_to_call) {
  const Kinds kinds;
  const Duplicate comm;
  std::vector<int> sources;
  const Wiring wiring = random_wiring(13, false, sources);
  for (const char* strategy : {"automatic", "direct", "aggregate"}) {
    GraphHandle graph;
    SUCCEEDS(create_graph(
        comm, sources, wiring.mine(),
        Hints{{"vicinal_strategy", strategy},
              {"vicinal_regions", few_regions(world_size())},
              {"vicinal_idle_ranks", std::string(strategy) == "aggregate" ? "lead" : "rest"}},
        &graph));
    for (int salt = 0; salt < 12; ++salt) {
      for (const Op op : all_ops) {
        Collective collective(wiring, kinds, op, salt);
        collective.fill(salt);
        RequestHandle request;
        const Form form = salt % 2 == 0 ? Form::blocking : Form::nonblocking;
        SUCCEEDS(collective.call(form, false, graph, MPI_INFO_NULL, &request));
        SUCCEEDS(vicinal_wait(&request));
        collective.verify(strategy);
      }
    }
  }
}

TEST(many_calls_in_flight_on_two_graphs) {
  const Kinds kinds;
  const Duplicate comm;
  std::vector<int> sources, other_sources;
  const Wiring wirings[] = {random_wiring(17, false, sources),
                            random_wiring(19, false, other_sources)};
  for (const char* strategy : {"automatic", "aggregate"}) {
    const Hints hints{{"vicinal_strategy", strategy},
                      {"vicinal_regions", few_regions(world_size())},
                      {"vicinal_in_flight", "3"}};
    GraphHandle graphs[2];
    SUCCEEDS(create_graph(comm, sources, wirings[0].mine(), hints, &graphs[0]));
    SUCCEEDS(create_graph(comm, other_sources, wirings[1].mine(), hints, &graphs[1]));
    // three of each collective per graph; more than the channels for two of them
    constexpr int most = 30;
    std::vector<std::unique_ptr<Collective>> calls;
    std::vector<vicinal_request> requests(most, VICINAL_REQUEST_NULL);
    for (int i = 0; i < most; ++i) {
      const int salt = i % 7 == 0 ? 3 : i;
      const Op op = i % 3 == 0 ? all_ops[i / 3 % 5] : i % 3 == 1 ? Op::alltoall : Op::allgather;
      calls.push_back(std::make_unique<Collective>(wirings[i % 2], kinds, op, salt));
      calls.back()->fill(i);
      SUCCEEDS(calls.back()->call(Form::nonblocking, i % 2 == 0, graphs[i % 2], MPI_INFO_NULL,
                                  &requests[static_cast<std::size_t>(i)]));
    }
    // Each rank completes them by different functions and in its own order.
    for (int n = 0; n < most / 2; ++n) {
      const int i = around(n * 7 + world_rank() * 5, most);
      SUCCEEDS(vicinal_wait(&requests[static_cast<std::size_t>(i)]));
      calls[static_cast<std::size_t>(i)]->verify(strategy);
    }
    for (int index = 0; index != MPI_UNDEFINED;) {
      SUCCEEDS(vicinal_waitany(most, requests.data(), &index));
      if (index != MPI_UNDEFINED) calls[static_cast<std::size_t>(index)]->verify(strategy);
    }
    for (const vicinal_request request : requests) CHECK(request == VICINAL_REQUEST_NULL);
  }
}

TEST(nonblocking_requests_belong_to_the_user) {
  const Kinds kinds;
  const Duplicate comm;
  std::vector<int> sources;
  const Wiring wiring = random_wiring(23, false, sources);
  GraphHandle graph = graph_of(comm, sources, wiring.mine(), few_regions(world_size()));
  for (const Op op : all_ops) {
    Collective freed(wiring, kinds, op, 1), tested(wiring, kinds, op, 2);
    for (Collective* each : {&freed, &tested}) each->fill(5);
    vicinal_request one = VICINAL_REQUEST_NULL, two = VICINAL_REQUEST_NULL;
    SUCCEEDS(freed.call(Form::nonblocking, false, graph, MPI_INFO_NULL, &one));
    SUCCEEDS(tested.call(Form::nonblocking, false, graph, MPI_INFO_NULL, &two));
    FAILS(MPI_ERR_REQUEST, vicinal_start(&one), "begun with the call");
    SUCCEEDS(vicinal_request_free(&one));
    CHECK(one == VICINAL_REQUEST_NULL);
    freed.verify("freed");
    int done = 0;
    while (done == 0) SUCCEEDS(vicinal_test(&two, &done));
    CHECK(two == VICINAL_REQUEST_NULL);
    tested.verify("tested");
  }
  // The graph may be freed first.
  Collective last(wiring, kinds, Op::allgather, 3);
  last.fill(6);
  vicinal_request request = VICINAL_REQUEST_NULL;
  SUCCEEDS(last.call(Form::nonblocking, false, graph, MPI_INFO_NULL, &request));
  graph.free();
  SUCCEEDS(vicinal_wait(&request));
  last.verify("after the graph");
}

}  // namespace vicinal::family_tests
