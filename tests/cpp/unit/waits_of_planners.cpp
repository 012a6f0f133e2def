// Tests that a rank waiting in graph creation or planning can name the missing peers. The test
// removes each control message of each superstep. The description names its sender or, if that is
// unknown, its content.
#include <map>
#include <memory>
#include <set>

#include "check.hpp"
#include "negotiate/comparison.hpp"
#include "negotiate/virtual_ranks.hpp"
#include "random_patterns.hpp"

namespace vicinal::waits_of_planners_tests {
namespace {

using testing::RandomPatterns;

/// Counts how missing control messages were described.
struct Seen {
  int by_sender = 0;
  int by_edge = 0;
  int by_region = 0;
};

bool names(const std::string& text, int rank) {
  return text.find("rank " + std::to_string(rank) + "'s") != std::string::npos ||
         text.find("others'") != std::string::npos;
}

void check_descriptions(const Conversation::Pending& pending,
                        const std::vector<ControlMessage>& inbox, std::string_view purpose,
                        Seen& seen) {
  CHECK(describe_wait(pending, inbox).starts_with("nobody"));
  for (std::size_t missing = 0; missing < inbox.size(); ++missing) {
    std::vector<ControlMessage> arrived = inbox;
    arrived.erase(arrived.begin() + static_cast<std::ptrdiff_t>(missing));
    const std::string text = describe_wait(pending, arrived);
    CHECK(text.ends_with(", " + std::string(purpose)));
    CHECK(text.find(" control messages") == std::string::npos);
    if (text.starts_with("whoever carries")) {
      ++seen.by_edge;
    } else if (text.starts_with("the introduction of region ")) {
      ++seen.by_region;
    } else if (names(text, inbox[missing].peer)) {
      ++seen.by_sender;
    } else {
      testing::fail_check(__FILE__, __LINE__, "a control message of rank ", inbox[missing].peer,
                          " is missing, but the wait is for ", text);
    }
  }
}

/// Runs all ranks and checks each wait when it ends.
template <class T>
std::vector<T> run_watched(int size, std::string_view purpose, Seen& seen,
                           const std::function<Task<T>(int, Conversation&)>& begin) {
  std::vector<std::unique_ptr<Conversation>> talks;
  std::vector<Task<T>> tasks;
  std::map<std::pair<int, int>, std::vector<ControlMessage>> boxes;  // by rank and superstep
  const auto post = [&](int rank) {
    Conversation& talk = *talks[static_cast<std::size_t>(rank)];
    for (ControlMessage& message : talk.pending().outbox) {
      boxes[{message.peer, talk.superstep() + message.ahead}].push_back(
          {rank, std::move(message.words)});
    }
    talk.pending().outbox.clear();
  };
  for (int rank = 0; rank < size; ++rank) {
    talks.push_back(std::make_unique<Conversation>());
    tasks.push_back(begin(rank, *talks.back()));
    post(rank);
  }
  for (bool moved = true; moved;) {
    moved = false;
    for (int rank = 0; rank < size; ++rank) {
      Conversation& talk = *talks[static_cast<std::size_t>(rank)];
      auto& box = boxes[{rank, talk.superstep()}];
      if (!talk.waiting() || box.size() < talk.pending().expected.count()) continue;
      check_descriptions(talk.pending(), box, purpose, seen);
      std::stable_sort(
          box.begin(), box.end(),
          [](const ControlMessage& a, const ControlMessage& b) { return a.peer < b.peer; });
      talk.pending().inbox = std::move(box);
      talk.resume();
      post(rank);
      moved = true;
    }
  }
  std::vector<T> results;
  for (Task<T>& task : tasks) results.push_back(task.result());
  return results;
}

}  // namespace

TEST(planners_say_whom_they_wait_for) {
  std::map<std::string_view, Seen> seen;
  for (unsigned seed = 0; seed < 12; ++seed) {
    RandomPatterns random(seed);
    const int size = random.between(2, 24);
    const auto machine = random.machine(size).machine;
    const auto patterns = random.make(size, true, 0.4);
    const auto neighborhoods = run_watched<Neighborhood>(
        size, "creating a graph", seen["creation"], [&](int rank, Conversation& talk) {
          std::vector<int> sources, destinations;
          const Pattern& pattern = patterns[static_cast<std::size_t>(rank)];
          for (const InEdge& edge : pattern.in) sources.push_back(edge.rank);
          for (const OutEdge& edge : pattern.out) destinations.push_back(edge.rank);
          return make_neighborhood(talk, machine, rank, std::move(sources),
                                   std::move(destinations));
        });
    for (const Planner& planner : planners()) {
      PlanOptions options;
      options.with_reverse = planner.forward_only.empty();
      options.split_bytes = 16;
      if (!serves(planner, options)) continue;
      std::vector<VirtualSite> sites(static_cast<std::size_t>(size));
      run_watched<Plans>(
          size, "planning " + std::string(planner.name), seen[planner.name],
          [&](int rank, Conversation& talk) {
            const auto r = static_cast<std::size_t>(rank);
            return plan_alike(
                planner, PlanRequest{talk, sites[r], neighborhoods[r], patterns[r], options, {}});
          });
    }
  }
  CHECK(seen.at("creation").by_sender > 100);
  CHECK(seen.at("direct").by_sender > 100 && seen.at("direct").by_edge == 0);
  CHECK(seen.at("aggregate").by_region > 10);
  CHECK(seen.at("common-neighbor").by_edge > 100);
  CHECK(seen.at("distance-halving-pruned").by_edge > 100);
}

TEST(allgathers_say_whom_they_wait_for) {
  const int size = 6;
  const auto machine =
      std::make_shared<const Machine>(std::vector{0, 0, 0, 1, 1, 1}, std::vector{0, 0, 0, 1, 1, 1});
  std::vector<Pattern> patterns(size);
  for (int from = 0; from < size; ++from) {
    for (int to = 0; to < size; ++to) {
      patterns[static_cast<std::size_t>(from)].out.push_back({to, {{0, 0, 2}}});
      patterns[static_cast<std::size_t>(to)].in.push_back({from, 2, {{0, Index{2} * from, 2}}});
    }
  }
  Seen creation;
  std::vector<int> all{0, 1, 2, 3, 4, 5};
  const auto neighborhoods = run_watched<Neighborhood>(
      size, "creating a graph", creation, [&](int rank, Conversation& talk) {
        return make_neighborhood(talk, machine, rank, all, all);
      });
  PlanOptions options;
  options.complete = options.one_block = true;
  for (const Planner& planner : planners()) {
    if (!planner.complete_only) continue;
    Seen seen;
    std::vector<VirtualSite> sites(size);
    run_watched<Plans>(
        size, "planning " + std::string(planner.name), seen, [&](int rank, Conversation& talk) {
          const auto r = static_cast<std::size_t>(rank);
          return plan_alike(
              planner, PlanRequest{talk, sites[r], neighborhoods[r], patterns[r], options, {}});
        });
    CHECK(seen.by_sender > 10 && seen.by_edge == 0);
  }
}

}  // namespace vicinal::waits_of_planners_tests
