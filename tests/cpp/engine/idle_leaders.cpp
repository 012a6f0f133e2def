// Ranks without edges that lead for other ranks, if a program allows it. A rank that waits for such
// a leader reports it, and a leader with other arguments gets an error.
#include <sstream>
#include <string>
#include <vector>

#include "api/shared.hpp"
#include "collectives/request.hpp"
#include "world.hpp"

namespace vicinal::idle_leaders_tests {
namespace {

using namespace testing;

/// Regions of two ranks. Rank 1 has no edges, and leads for rank 0. All other ranks exchange with
/// each other.
struct Leading {
  int rank = world_rank();
  int size = world_size();
  int idle = 1;
  std::vector<int> peers;
  Duplicate comm;
  GraphHandle graph;
  std::vector<int> send, receive;

  Leading() {
    if (size < 6) testing::skip("needs 6 ranks");
    for (int peer = 0; rank != idle && peer < size; ++peer) {
      if (peer != idle && peer != rank) peers.push_back(peer);
    }
    SUCCEEDS(create_graph(comm, peers, peers,
                          Hints{{"vicinal_strategy", "aggregate"},
                                {"vicinal_regions", "blocks:2"},
                                {"vicinal_idle_ranks", "lead"}},
                          &graph));
    for (const int peer : peers) send.push_back(100 * rank + peer);
    receive.assign(peers.size(), -1);
  }
  void verify() const {
    for (std::size_t i = 0; i < peers.size(); ++i) CHECK_EQUAL(receive[i], 100 * peers[i] + rank);
  }
};

}  // namespace

TEST(who_waits_for_a_leader_without_edges_is_told_so) {
  Leading world;
  RequestHandle request;
  SUCCEEDS(vicinal_neighbor_alltoall_init(world.send.data(), 1, MPI_INT, world.receive.data(), 1,
                                          MPI_INT, world.graph, MPI_INFO_NULL, &request));
  for (int round = 0; round < 3; ++round) {
    const bool is_idle = world.rank == world.idle;
    if (!is_idle) SUCCEEDS(vicinal_start(&request));
    int named = 0;
    for (int look = 0; look < 10; ++look) {
      MPI_Barrier(world.comm);
      vicinal_progress();
      if (is_idle) continue;
      std::ostringstream text;
      c_api::find(static_cast<vicinal_request>(request))->name_awaited(text);
      // ", with rank 1" or ", with ranks 0 1".
      const std::string awaited = text.str() + ' ';
      const std::size_t ranks = awaited.find(", with rank");
      const std::string idle = ' ' + std::to_string(world.idle) + ' ';
      if (ranks != std::string::npos && awaited.find(idle, ranks) != std::string::npos) named = 1;
    }
    MPI_Allreduce(MPI_IN_PLACE, &named, 1, MPI_INT, MPI_MAX, world.comm);
    CHECK_EQUAL(named, 1);
    if (is_idle) SUCCEEDS(vicinal_start(&request));
    SUCCEEDS(vicinal_wait(&request));
    world.verify();
  }
}

TEST(a_leader_without_edges_that_gives_blocks_of_another_size_is_told) {
  Leading world;
  const bool is_idle = world.rank == world.idle;
  std::vector<int> given(2), taken(2);
  std::string said;
  // Until a plan takes effect, no data go through leaders, and the block size of a rank without
  // edges has no effect.
  for (int call = 0; call < 24 && said.empty(); ++call) {
    world.receive.assign(world.peers.size(), -1);
    vicinal_request request = VICINAL_REQUEST_NULL;
    int code =
        vicinal_ineighbor_alltoall(is_idle ? given.data() : world.send.data(), is_idle ? 2 : 1,
                                   MPI_INT, is_idle ? taken.data() : world.receive.data(),
                                   is_idle ? 2 : 1, MPI_INT, world.graph, &request);
    if (code == MPI_SUCCESS) code = vicinal_wait(&request);
    if (code == MPI_SUCCESS) {
      world.verify();
    } else {
      said = vicinal_error_message();
    }
    int failed = said.empty() ? 0 : 1;
    MPI_Allreduce(MPI_IN_PLACE, &failed, 1, MPI_INT, MPI_MAX, world.comm);
    if (failed != 0) break;
  }
  // The leader reports the mismatch. A rank that waits for it reports the same, or refers to the
  // leader.
  const bool says = said.find("must use the same element size") != std::string::npos;
  const bool refers = said.find("failed on rank 1") != std::string::npos;
  if (is_idle) CHECK(says);
  if (world.rank == 0) CHECK(says || refers);
}

}  // namespace vicinal::idle_leaders_tests
