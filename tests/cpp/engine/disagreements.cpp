// Ranks with different arguments: edges that one end does not know, and settings that differ. Each
// is one clear error on all ranks that depend on each other. Independent components of a graph may
// differ in data and number of exchanges.
#include <unistd.h>

#include <array>
#include <filesystem>
#include <fstream>
#include <string>

#include "base/setting.hpp"
#include "cost/profile_json.hpp"
#include "world.hpp"

namespace vicinal::disagreements_tests {
namespace {

using namespace testing;

constexpr const char* same_for_all = "; all ranks must give the same";

struct Ring {
  int rank = world_rank();
  int size = world_size();
  std::vector<int> next{around(rank + 1, size)};
  std::vector<int> last{around(rank - 1, size)};
};

/// Returns "KEY is 'A' on rank 0, but 'B' on rank R; all ranks must give the same".
std::string difference(const std::string& key, const std::string& a, const std::string& b,
                       int odd) {
  return key + " is '" + a + "' on rank 0, but '" + b + "' on rank " + std::to_string(odd) +
         same_for_all;
}

}  // namespace

TEST(an_edge_that_one_end_does_not_know_is_told) {
  const int rank = world_rank(), size = world_size();
  if (size < 2) testing::skip("needs 2 ranks");
  const Duplicate comm;
  const int other = size - 1;
  const std::string far = std::to_string(other);
  GraphHandle graph;
  const std::vector<int> none, to_other = rank == 0 ? std::vector{other} : none;
  FAILS(MPI_ERR_COUNT, create_graph(comm, none, to_other, MPI_INFO_NULL, &graph),
        "rank 0 has 1 edge to rank " + far + ", but rank " + far + " has 0 edges from rank 0");
  FAILS(MPI_ERR_COUNT, create_graph(comm, to_other, none, MPI_INFO_NULL, &graph),
        "rank " + far + " has 0 edges to rank 0, but rank 0 has 1 edge from rank " + far);
  // One edge too many among correct ones.
  const Ring ring;
  std::vector<int> out = ring.next;
  if (rank == other) out.push_back(0);
  FAILS(MPI_ERR_COUNT, create_graph(comm, ring.last, out, MPI_INFO_NULL, &graph),
        "rank " + far + " has 2 edges to rank 0, but rank 0 has 1 edge from rank " + far);
  CHECK(static_cast<vicinal_graph>(graph) == nullptr);
  const Shifts shifts(comm, {1, -1}, few_regions(size));
  Exchange(shifts, "aggregate").run(1);
}

TEST(settings_of_graphs_that_differ_are_told) {
  const Ring ring;
  if (ring.size < 2) testing::skip("needs 2 ranks");
  const Duplicate comm;
  const int odd = ring.size - 1;
  const std::vector<std::array<std::string, 3>> all{
      {"vicinal_strategy", "aggregate", "direct"},
      {"vicinal_allgather", "ring", "bruck"},
      {"vicinal_local", "shared", "messages"},
      {"vicinal_split_bytes", "10", "20"},
      {"vicinal_radix", "0", "3"},
      {"vicinal_choice", "measure", "estimate"},
      {"vicinal_bias", "direct:2", "direct:3"},
      {"vicinal_wisdom", "/nonexistent/a", "/nonexistent/b"},
      {"vicinal_in_flight", "1", "8"},
      {"vicinal_regions", "blocks:1", "blocks:2"},
      {"vicinal_exchange", "locality", "personalized"},
      {"vicinal_progress", "relaxed", "strict"}};
  for (const auto& [key, common, other] : all) {
    if (environment_value(key)) continue;
    GraphHandle graph;
    FAILS(MPI_ERR_INFO_VALUE,
          create_graph(comm, ring.last, ring.next,
                       Hints{{key.c_str(), ring.rank == odd ? other : common}}, &graph),
          difference(key, common, other, odd));
  }
}

TEST(settings_of_persistent_exchanges_that_differ_are_told) {
  const Ring ring;
  if (ring.size < 2) testing::skip("needs 2 ranks");
  const Duplicate comm;
  const GraphHandle graph = graph_of(comm, ring.last, ring.next, few_regions(ring.size));
  const int odd = ring.size - 1;
  const std::array strategies{"direct",          "nearest-first",   "aggregate",
                              "two-step",        "split",           "automatic",
                              "common-neighbor", "aggregate-plain", "distance-halving-pruned",
                              "cascade"};
  for (const char* common : strategies) {
    for (const char* other : strategies) {
      if (common == other) continue;
      Edges send({3}), receive({3});
      RequestHandle request;
      FAILS(MPI_ERR_INFO_VALUE,
            plan_exchange(send, receive, graph,
                          Hints{{"vicinal_strategy", ring.rank == odd ? other : common}}, &request),
            difference("vicinal_strategy", common, other, odd));
    }
  }
  const std::vector<std::array<const char*, 3>> options{
      {"vicinal_local", "shared", "messages"},
      {"vicinal_split_bytes", "10", "20"},
      {"vicinal_radix", "0", "3"},
      {"vicinal_choice", "measure", "estimate"},
      {"vicinal_choice", "estimate", "measure"},
      {"vicinal_choice", "measure", "adaptive"},
      {"vicinal_bias", "direct:2", "direct:3"},
      {"vicinal_wisdom", "/nonexistent/a", "/nonexistent/b"}};
  for (const auto& [key, common, other] : options) {
    Edges send({3}), receive({3});
    RequestHandle request;
    FAILS(MPI_ERR_INFO_VALUE,
          plan_exchange(send, receive, graph, Hints{{key, ring.rank == odd ? other : common}},
                        &request),
          difference(key, common, other, odd));
  }
  Edges send({3}), receive({3});
  RequestHandle request;
  SUCCEEDS(plan_exchange(send, receive, graph, Hints{{"vicinal_strategy", "aggregate"}}, &request));
  SUCCEEDS(vicinal_start(&request));
  SUCCEEDS(vicinal_wait(&request));
}

TEST(profiles_that_differ_are_told) {
  const Ring ring;
  if (ring.size < 2) testing::skip("needs 2 ranks");
  if (environment_value("vicinal_profile")) testing::skip("needs no VICINAL_PROFILE");
  const Duplicate comm;
  const int odd = ring.size - 1;
  Profile ours = default_profile();
  ours.name = "ours";
  Profile theirs = ours;
  theirs.handover *= 2;
  // Each rank has its own file, as on nodes without a shared file system.
  const std::filesystem::path file =
      std::filesystem::temp_directory_path() / ("vicinal-differ-" + std::to_string(getpid()));
  std::ofstream(file) << write_profile(ring.rank == odd ? theirs : ours);
  const Hints hints{{"vicinal_profile", file.string()}};
  const std::string told = difference("vicinal_profile", identity(ours), identity(theirs), odd);
  GraphHandle graph;
  FAILS(MPI_ERR_INFO_VALUE, create_graph(comm, ring.last, ring.next, hints, &graph), told);
  SUCCEEDS(create_graph(comm, ring.last, ring.next, MPI_INFO_NULL, &graph));
  Edges send({3}), receive({3});
  RequestHandle request;
  FAILS(MPI_ERR_INFO_VALUE, plan_exchange(send, receive, graph, hints, &request), told);
  std::filesystem::remove(file);
}

TEST(components_may_differ_in_size_and_number_of_calls) {
  // Even ranks exchange among themselves, as do odd ranks, in the same regions.
  const int rank = world_rank(), size = world_size();
  std::vector<int> peers;
  for (int other = rank % 2; other < size; other += 2) peers.push_back(other);
  const Duplicate comm;
  GraphHandle graph;
  for (const char* strategy : {"direct", "aggregate", "two-step", "automatic"}) {
    SUCCEEDS(create_graph(
        comm, peers, peers,
        Hints{{"vicinal_regions", few_regions(size)}, {"vicinal_strategy", strategy}}, &graph));
    const int count = rank % 2 == 0 ? 1 : 500, calls = rank % 2 == 0 ? 7 : 2;
    const std::size_t all = peers.size() * static_cast<std::size_t>(count);
    for (int call = 0; call < calls; ++call) {
      const std::vector<int> sent(all, rank + call);
      std::vector<int> received(all, -1);
      SUCCEEDS(vicinal_neighbor_alltoall(sent.data(), count, MPI_INT, received.data(), count,
                                         MPI_INT, graph));
      for (std::size_t i = 0; i < all; ++i) {
        CHECK_EQUAL(received[i], peers[i / static_cast<std::size_t>(count)] + call);
      }
    }
    graph.free();
  }
}

}  // namespace vicinal::disagreements_tests
