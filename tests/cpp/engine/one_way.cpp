// A rank that only sends waits for no message. Only the acknowledgements of shared slots keep it
// from overwriting values that a slow reader has not yet read. Here it runs thousands of times
// against such readers.
#include <sched.h>
#include <unistd.h>

#include "negotiate/planner.hpp"
#include "world.hpp"

namespace vicinal::one_way_tests {
namespace {

using namespace testing;

constexpr int per_edge = 3;

/// Even ranks send to up to four odd ranks above them; odd ranks only receive.
struct OneWay {
  int rank = world_rank();
  int size = world_size();
  std::vector<int> sources, destinations;

  OneWay() {
    for (const int shift : {1, 3, 5, 7}) {
      if (shift >= size) break;
      if (rank % 2 == 0 && around(rank + shift, size) % 2 == 1) {
        destinations.push_back(around(rank + shift, size));
      }
      if (rank % 2 == 1 && around(rank - shift, size) % 2 == 0) {
        sources.push_back(around(rank - shift, size));
      }
    }
  }
};

std::int64_t value(int from, int edge_to, int i, int round) {
  return ((std::int64_t{from} * 100 + edge_to) * per_edge + i) * 100000 + round;
}

void dawdle(int rank, int round) {
  if ((round + rank) % 89 == 0) usleep(300);
  if ((round + rank) % 7 == 0) sched_yield();
}

void run_one_way(std::string_view planner, const std::string& regions, const char* local,
                 int rounds) {
  const OneWay test;
  const Duplicate comm;
  const GraphHandle graph = graph_of(comm, test.sources, test.destinations, regions);
  Edges send(std::vector<int>(test.destinations.size(), per_edge));
  Edges receive(std::vector<int>(test.sources.size(), per_edge));
  RequestHandle request;
  const Hints hints{{"vicinal_strategy", std::string(planner)}, {"vicinal_local", local}};
  SUCCEEDS(plan_exchange(send, receive, graph, hints, &request));
  for (int round = 1; round <= rounds; ++round) {
    for (std::size_t e = 0; e < test.destinations.size(); ++e) {
      for (int i = 0; i < per_edge; ++i) {
        send.at(e, i) = value(test.rank, test.destinations[e], i, round);
      }
    }
    SUCCEEDS(vicinal_start(&request));
    if (!test.sources.empty()) dawdle(test.rank, round);
    SUCCEEDS(vicinal_wait(&request));
    for (std::size_t e = 0; e < test.sources.size(); ++e) {
      for (int i = 0; i < per_edge; ++i) {
        const std::int64_t expected = value(test.sources[e], test.rank, i, round);
        if (receive.at(e, i) == expected) continue;
        fail_check(__FILE__, __LINE__, planner, ", ", regions, ", ", local, ", round ", round, ": ",
                   receive.at(e, i), " came from rank ", test.sources[e], ", not ", expected);
      }
    }
  }
}

}  // namespace

TEST(a_rank_that_only_sends_never_laps_its_readers) {
  const int size = world_size();
  // 5,000 rounds per planner on up to two ranks. 5,000 in all on up to eight, and 2,000 in all on
  // more.
  const int in_all = size <= 8 ? 5000 : 2000;
  const int rounds = size <= 2 ? in_all : in_all / static_cast<int>(planners().size());
  for (const Planner& planner : planners()) {
    if (!serves(planner, {})) continue;
    run_one_way(planner.name, few_regions(size), "shared", rounds);
  }
  run_one_way("aggregate", "node", "shared", rounds);
  run_one_way("aggregate", few_regions(size), "messages", rounds / 5);
}

}  // namespace vicinal::one_way_tests
