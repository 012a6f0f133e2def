// Misuse raises an error of the right class on the faulty rank, with a message that names the
// fault. Ranks that communicate with it get an error, too. No rank hangs, however distant. The
// graph can then be planned again with correct arguments.
#include <algorithm>
#include <functional>

#include "negotiate/planner.hpp"
#include "world.hpp"

namespace vicinal::faults_tests {
namespace {

using namespace testing;

/// The arguments of an init, which a misuse modifies.
struct Arguments {
  Edges send, receive;
  const void* send_buffer;
  void* receive_buffer;
  const int* send_counts;
  MPI_Datatype send_type = MPI_INT64_T;
  MPI_Datatype receive_type = MPI_INT64_T;
  std::string strategy;

  Arguments(const Edges& out, const Edges& in, std::string planner)
      : send(out),
        receive(in),
        send_buffer(send.data.data()),
        receive_buffer(receive.data.data()),
        send_counts(send.counts.data()),
        strategy(std::move(planner)) {}
  Arguments(const Arguments&) = delete;
  Arguments& operator=(const Arguments&) = delete;

  int init(vicinal_graph graph, vicinal_request* request) {
    return vicinal_neighbor_alltoallv_init(send_buffer, send_counts, send.displacements.data(),
                                           send_type, receive_buffer, receive.counts.data(),
                                           receive.displacements.data(), receive_type, graph,
                                           Hints{{"vicinal_strategy", strategy}}, request);
  }
};

struct Misuse {
  const char* what;
  std::function<void(Arguments&)> spoil;
  int error_class;
  const char* part;
};

const std::vector<Misuse>& misuses() {
  static const std::vector<Misuse> all{
      {"a negative send count", [](Arguments& a) { a.send.counts[0] = -2; }, MPI_ERR_COUNT,
       "sendcounts[0] is -2"},
      {"a negative receive count", [](Arguments& a) { a.receive.counts[1] = -1; }, MPI_ERR_COUNT,
       "recvcounts[1] is -1"},
      {"a null send buffer", [](Arguments& a) { a.send_buffer = nullptr; }, MPI_ERR_BUFFER,
       "the send buffer is null"},
      {"a null receive buffer", [](Arguments& a) { a.receive_buffer = nullptr; }, MPI_ERR_BUFFER,
       "the receive buffer is null"},
      {"no counts", [](Arguments& a) { a.send_counts = nullptr; }, MPI_ERR_ARG, "null array"},
      {"a null send type", [](Arguments& a) { a.send_type = MPI_DATATYPE_NULL; }, MPI_ERR_TYPE,
       "MPI_DATATYPE_NULL"},
      {"a null receive type", [](Arguments& a) { a.receive_type = MPI_DATATYPE_NULL; },
       MPI_ERR_TYPE, "MPI_DATATYPE_NULL"},
      {"overlapping receives", [](Arguments& a) { a.receive.displacements[1] = 1; }, MPI_ERR_BUFFER,
       "must not overlap"},
      {"an unknown strategy", [](Arguments& a) { a.strategy = "telepathy"; }, MPI_ERR_INFO_VALUE,
       "telepathy"},
  };
  return all;
}

/// Ranks in a row; each sends two elements to the `reach` ranks on either side.
struct Row {
  int rank = world_rank();
  int size = world_size();
  std::vector<int> peers;
  Duplicate comm;
  GraphHandle graph;

  explicit Row(int reach, const std::string& regions) {
    for (int shift = -reach; shift <= reach; ++shift) {
      if (shift != 0 && rank + shift >= 0 && rank + shift < size) peers.push_back(rank + shift);
    }
    graph = graph_of(comm, peers, peers, regions);
  }
  [[nodiscard]] bool talks_to(int other) const {
    return std::find(peers.begin(), peers.end(), other) != peers.end();
  }
  [[nodiscard]] Edges edges() const { return Edges(std::vector<int>(peers.size(), 2)); }

  /// Checks that the graph still works.
  void run(const std::string& strategy) const {
    Edges send = edges(), receive = edges();
    for (std::size_t i = 0; i < send.data.size(); ++i) {
      send.data[i] = rank * 100 + peers[i / 2] * 2 + static_cast<int>(i % 2);
    }
    RequestHandle request;
    SUCCEEDS(plan_exchange(send, receive, graph, Hints{{"vicinal_strategy", strategy}}, &request));
    for (int round = 0; round < 2; ++round) {
      SUCCEEDS(vicinal_start(&request));
      SUCCEEDS(vicinal_wait(&request));
      for (std::size_t i = 0; i < receive.data.size(); ++i) {
        CHECK_EQUAL(receive.data[i], peers[i / 2] * 100 + rank * 2 + static_cast<int>(i % 2));
      }
    }
  }
};

/// Runs a plan, if there is one. A rank far from the fault may have a plan, and gets an error if it
/// cannot complete.
void run_if_planned(int code, RequestHandle& request) {
  if (code != MPI_SUCCESS) {
    CHECK(static_cast<vicinal_request>(request) == nullptr);
    return;
  }
  SUCCEEDS(vicinal_start(&request));
  const int ended = vicinal_wait(&request);
  if (ended != MPI_SUCCESS) FAILS(MPI_ERR_OTHER, ended, "failed on rank");
}

void misuse_on(int culprit, const Row& row, const std::string& strategy, const Misuse& misuse) {
  Arguments arguments(row.edges(), row.edges(), strategy);
  if (row.rank == culprit) misuse.spoil(arguments);
  RequestHandle request;
  const int code = arguments.init(row.graph, &request);
  if (row.rank == culprit) {
    FAILS(misuse.error_class, code, misuse.part);
  } else if (row.talks_to(culprit)) {
    FAILS(MPI_ERR_OTHER, code, "rank");
  }
  run_if_planned(code, request);
}

/// Rank `from` sends one element more to rank `to` than that rank expects.
void different_counts(int from, int to, const Row& row, const std::string& strategy) {
  Edges send = row.edges(), receive = row.edges();
  if (row.rank == from) {
    std::vector<int> counts;
    for (const int peer : row.peers) counts.push_back(peer == to ? 3 : 2);
    send = Edges(counts);
  }
  Arguments arguments(send, receive, strategy);
  RequestHandle request;
  const int code = arguments.init(row.graph, &request);
  if (row.rank == from || row.rank == to) {
    FAILS(MPI_ERR_COUNT, code,
          "from rank " + std::to_string(from) + " to rank " + std::to_string(to) + " differ");
  }
  run_if_planned(code, request);
}

/// Makes errors without a communicator return, while it exists.
class QuietWorld {
 public:
  QuietWorld() {
    MPI_Comm_get_errhandler(MPI_COMM_WORLD, &before_);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  }
  QuietWorld(const QuietWorld&) = delete;
  QuietWorld& operator=(const QuietWorld&) = delete;
  ~QuietWorld() {
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, before_);
    MPI_Errhandler_free(&before_);
  }

 private:
  MPI_Errhandler before_ = MPI_ERRHANDLER_NULL;
};

}  // namespace

TEST(misuse_is_an_error_and_no_hang) {
  if (world_size() < 2) skip("needs 2 ranks");
  const Row row(2, few_regions(world_size()));
  int iteration = 0;
  for (const char* strategy : {"direct", "aggregate"}) {
    for (const Misuse& misuse : misuses()) {
      const int culprit = iteration++ % row.size;
      const bool of_receives = std::string(misuse.what).find("receive") != std::string::npos;
      const bool of_the_whole = misuse.error_class == MPI_ERR_BUFFER && misuse.part[0] == 't';
      // With one neighbor, there is no second edge to modify.
      if (row.size == 2 && of_receives && !of_the_whole) continue;
      try {
        misuse_on(culprit, row, strategy, misuse);
      } catch (const std::exception& error) {
        fail_check(__FILE__, __LINE__, misuse.what, " on rank ", culprit, ", ", strategy, ": ",
                   error.what());
      }
    }
    row.run(strategy);
  }
  row.run("split");
}

TEST(counts_that_differ_are_told_on_both_ends) {
  if (world_size() < 2) skip("needs 2 ranks");
  const Row row(2, few_regions(world_size()));
  const int last = row.size - 1;
  for (const Planner& planner : planners()) {
    if (!serves(planner, {})) continue;
    const std::string strategy(planner.name);
    try {
      different_counts(0, 1, row, strategy);  // in one region, with few ranks
      different_counts(last, last - 1, row, strategy);
      // Across a border of regions.
      if (row.size > 4) different_counts(2, 4, row, strategy);
      if (row.size > 4) different_counts(4, 3, row, strategy);
    } catch (const std::exception& error) {
      fail_check(__FILE__, __LINE__, strategy, ": ", error.what());
    }
    row.run(strategy);
  }
}

TEST(faults_reach_whoever_waits_for_them) {
  // Each region communicates with the next one only. The fault spreads along this chain, or the
  // distant exchanges succeed.
  if (world_size() < 3) skip("needs 3 ranks");
  for (const char* regions : {"blocks:2", "blocks:1", "round-robin:2"}) {
    const Row row(1, regions);
    for (const char* strategy : {"aggregate", "direct", "two-step", "common-neighbor"}) {
      try {
        for (const Misuse& misuse : {misuses()[0], misuses()[8]})
          misuse_on(0, row, strategy, misuse);
        different_counts(1, 0, row, strategy);
        row.run(strategy);
      } catch (const std::exception& error) {
        fail_check(__FILE__, __LINE__, regions, ", ", strategy, ": ", error.what());
      }
    }
  }
}

TEST(faults_on_all_ranks) {
  const Duplicate comm;
  const int rank = world_rank(), size = world_size();
  const std::vector<int> next{around(rank + 1, size)}, last{around(rank - 1, size)};
  GraphHandle graph;
  FAILS(MPI_ERR_INFO_VALUE,
        create_graph(comm, last, next, Hints{{"vicinal_strategy", "telepathy"}}, &graph),
        "telepathy");
  FAILS(MPI_ERR_INFO_VALUE,
        create_graph(comm, last, next, Hints{{"vicinal_in_flight", "9"}}, &graph), "from 1 to 8");
  FAILS(MPI_ERR_INFO_VALUE,
        create_graph(comm, last, next, Hints{{"vicinal_local", "shouting"}}, &graph), "shouting");
  std::string list = "list:0";
  for (int i = 0; i < size; ++i) list += ",0";
  for (const std::string& regions : {list, std::string("blocks:0"), std::string("nonsense")}) {
    FAILS(MPI_ERR_TOPOLOGY,
          create_graph(comm, last, next, Hints{{"vicinal_regions", regions}}, &graph), "");
  }
  FAILS(MPI_ERR_TOPOLOGY, vicinal_set_regions(comm, list.c_str()), std::to_string(size));
  CHECK(static_cast<vicinal_graph>(graph) == nullptr);
  SUCCEEDS(create_graph(comm, last, next, MPI_INFO_NULL, &graph));

  Edges send({1}), receive({1});
  RequestHandle request;
  FAILS(MPI_ERR_INFO_VALUE,
        plan_exchange(send, receive, graph, Hints{{"vicinal_strategy", "telepathy"}}, &request),
        "telepathy");
  SUCCEEDS(plan_exchange(send, receive, graph, MPI_INFO_NULL, &request));
  SUCCEEDS(vicinal_start(&request));
  FAILS(MPI_ERR_REQUEST, vicinal_start(&request), "started again");
  SUCCEEDS(vicinal_wait(&request));
}

TEST(null_handles) {
  const QuietWorld quiet;
  vicinal_graph graph = VICINAL_GRAPH_NULL;
  vicinal_request request = VICINAL_REQUEST_NULL;
  vicinal_halo halo = VICINAL_HALO_NULL;
  FAILS(MPI_ERR_COMM, create_graph(MPI_COMM_NULL, {}, {}, MPI_INFO_NULL, &graph), "MPI_COMM_NULL");
  FAILS(MPI_ERR_COMM, vicinal_halo_create(MPI_COMM_NULL, 0, 1, 0, nullptr, MPI_INFO_NULL, &halo),
        "MPI_COMM_NULL");
  Edges none({});
  FAILS(MPI_ERR_ARG, plan_exchange(none, none, graph, MPI_INFO_NULL, &request), "null graph");
  FAILS(MPI_ERR_REQUEST, vicinal_start(&request), "null request");
  FAILS(MPI_ERR_ARG, vicinal_halo_start(halo, nullptr, nullptr, 1, MPI_INT, &request), "null halo");
  SUCCEEDS(vicinal_wait(&request));
  SUCCEEDS(vicinal_request_free(&request));
  SUCCEEDS(vicinal_graph_free(&graph));
  SUCCEEDS(vicinal_halo_free(&halo));
}

TEST(a_fault_on_one_rank_in_creating_a_graph) {
  const int rank = world_rank(), size = world_size();
  if (size < 2) skip("needs 2 ranks");
  const std::vector<int> next{around(rank + 1, size)}, last{around(rank - 1, size)};
  const auto wrong = [&](int kind, MPI_Comm comm, vicinal_graph* graph) {
    const int missing = size + 7;
    switch (kind) {
      case 0:
        FAILS(MPI_ERR_RANK, create_graph(comm, last, {missing}, MPI_INFO_NULL, graph), "rank");
        break;
      case 1:  // its neighbors are unknown
        FAILS(MPI_ERR_RANK, create_graph(comm, {-3}, {missing}, MPI_INFO_NULL, graph), "-3");
        break;
      case 2:
        FAILS(MPI_ERR_ARG,
              vicinal_graph_create_adjacent(comm, -1, last.data(), MPI_UNWEIGHTED, 1, next.data(),
                                            MPI_UNWEIGHTED, MPI_INFO_NULL, 0, graph),
              "negative");
        break;
      case 3:
        FAILS(MPI_ERR_INFO_VALUE,
              create_graph(comm, last, next, Hints{{"vicinal_strategy", "telepathy"}}, graph),
              "telepathy");
        break;
      default:
        FAILS(MPI_ERR_TOPOLOGY,
              create_graph(comm, last, next, Hints{{"vicinal_regions", "list:0"}}, graph), "");
    }
  };
  for (int kind = 0; kind < 5; ++kind) {
    const Duplicate comm;
    for (int attempt = 0; attempt < 2;
         ++attempt) {  // the first graph of a communicator, and a later one
      GraphHandle graph;
      const int culprit = (kind + attempt) % size;
      if (rank == culprit) {
        wrong(kind, comm, &graph);
        continue;
      }
      const int made = create_graph(comm, last, next, MPI_INFO_NULL, &graph);
      if (made != MPI_SUCCESS) {
        FAILS(MPI_ERR_OTHER, made, "rank " + std::to_string(culprit));
        continue;
      }
      Edges send({1}), receive({1});
      RequestHandle request;
      const int code = plan_exchange(send, receive, graph, MPI_INFO_NULL, &request);
      if (next[0] == culprit || last[0] == culprit) FAILS(MPI_ERR_OTHER, code, "failed on rank");
      run_if_planned(code, request);
    }
    const Shifts shifts(comm, {1, -1}, few_regions(size));
    Exchange(shifts, "aggregate").run(kind);
  }
}

TEST(a_fault_on_one_rank_in_creating_a_halo) {
  const int rank = world_rank(), size = world_size();
  if (size < 2) skip("needs 2 ranks");
  const Duplicate comm;
  const std::int64_t needed = around(rank + 1, size), missing = size;
  HaloHandle halo;
  const auto create = [&](std::int64_t first, std::int64_t count, const std::int64_t* list,
                          MPI_Info info) {
    return vicinal_halo_create(comm, first, rank + 1, count, list, info, &halo);
  };
  for (int culprit : {0, size - 1}) {
    const bool failed = rank == culprit;
    const auto expect = [&](int code, int error_class) {
      CHECK(code == error_class || (!failed && code == MPI_ERR_OTHER));
    };
    expect(create(rank, 1, failed ? &missing : &needed, MPI_INFO_NULL), MPI_ERR_ARG);
    expect(create(rank, failed ? -1 : 1, &needed, MPI_INFO_NULL), MPI_ERR_ARG);
    expect(create(rank, 1, failed ? nullptr : &needed, MPI_INFO_NULL), MPI_ERR_ARG);
    expect(create(failed && rank > 0 ? rank - 1
                  : failed           ? 2
                                     : rank,
                  1, &needed, MPI_INFO_NULL),
           MPI_ERR_ARG);
    const char* strategy = failed ? "telepathy" : "direct";
    expect(create(rank, 1, &needed, Hints{{"vicinal_strategy", strategy}}), MPI_ERR_INFO_VALUE);
    const char* regions = failed ? "nonsense" : "node";
    expect(create(rank, 1, &needed, Hints{{"vicinal_regions", regions}}), MPI_ERR_TOPOLOGY);
  }
  SUCCEEDS(create(rank, 1, &needed, MPI_INFO_NULL));
  const std::int64_t mine = std::int64_t{10} * rank;
  std::int64_t ghost = -1;
  SUCCEEDS(vicinal_halo_exchange(halo, &mine, &ghost, 1, MPI_INT64_T));
  CHECK_EQUAL(ghost, needed * 10);
}

}  // namespace vicinal::faults_tests
