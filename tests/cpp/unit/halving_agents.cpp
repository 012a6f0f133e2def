// Compares agent selection by region leaders with the paper's, which takes pairs in the order of
// their common neighbours.
#include <algorithm>
#include <iostream>

#include "block_graphs.hpp"
#include "check.hpp"
#include "negotiate/virtual_ranks.hpp"
#include "planners/halving/agents.hpp"

namespace vicinal::halving::halving_agents_tests {
namespace {

using testing::OutEdges;
using testing::random_graph;

struct Selection {
  std::vector<std::vector<StepPartners>> steps;  ///< by rank, then by step
  std::size_t messages = 0;
};

struct Told {
  std::vector<StepPartners> steps;
  std::size_t messages = 0;
};

Task<Told> select_one(Conversation& talk, const Neighborhood& neighborhood, const Halves& halves,
                      const std::vector<int>& region_leader_of, int most_origins) {
  std::map<int, int> region_leaders;
  for (const int source : neighborhood.sources) {
    const int region = neighborhood.machine->region_of(source);
    if (source != neighborhood.rank)
      region_leaders[region] = region_leader_of[static_cast<std::size_t>(region)];
  }
  Told told;
  told.steps =
      co_await find_agents(talk, neighborhood, halves, std::move(region_leaders), most_origins);
  told.messages = talk.messages_sent();
  co_return told;
}

/// Returns for each rank what find_agents() tells it.
Selection select(const std::shared_ptr<const Machine>& machine, const OutEdges& graph,
                 int most_origins) {
  const int size = machine->size();
  std::vector<std::vector<int>> sources(graph.size());
  for (int from = 0; from < size; ++from) {
    for (const int to : graph[static_cast<std::size_t>(from)]) {
      sources[static_cast<std::size_t>(to)].push_back(from);
    }
  }
  const auto neighborhoods = run_virtual<Neighborhood>(size, [&](int rank, Conversation& talk) {
    const auto r = static_cast<std::size_t>(rank);
    return make_neighborhood(talk, machine, rank, sources[r], graph[r]);
  });
  std::vector<Halves> halves;
  std::vector<int> region_leader_of;
  for (int region = 0; region < machine->regions(); ++region) {
    halves.emplace_back(*machine, region);
    const int first = machine->members(region).front();
    region_leader_of.push_back(neighborhoods[static_cast<std::size_t>(first)].active().front());
  }
  Selection result;
  for (Told& told : run_virtual<Told>(size, [&](int rank, Conversation& talk) {
         const Neighborhood& mine = neighborhoods[static_cast<std::size_t>(rank)];
         return select_one(talk, mine, halves[static_cast<std::size_t>(mine.region())],
                           region_leader_of, most_origins);
       })) {
    result.steps.push_back(std::move(told.steps));
    result.messages += told.messages;
  }
  return result;
}

/// Returns each pair that may become origin and agent, with the number of their common neighbours.
std::vector<Bid> all_pairs(const Machine& machine, const OutEdges& graph) {
  const int size = machine.size();
  std::vector<Halves> halves;
  for (int region = 0; region < machine.regions(); ++region) halves.emplace_back(machine, region);
  const auto step = [&](int a, int b) {
    return halves[static_cast<std::size_t>(machine.region_of(a))].step_to(machine.region_of(b));
  };
  std::vector<std::vector<bool>> sends(graph.size(), std::vector<bool>(graph.size(), false));
  for (std::size_t from = 0; from < graph.size(); ++from) {
    for (const int to : graph[from]) {
      if (to != static_cast<int>(from)) sends[from][static_cast<std::size_t>(to)] = true;
    }
  }
  std::vector<Bid> pairs;
  for (int origin = 0; origin < size; ++origin) {
    for (int agent = 0; agent < size; ++agent) {
      if (machine.same_region(origin, agent)) continue;
      Bid bid{origin, agent, 0};
      for (const int to : graph[static_cast<std::size_t>(origin)]) {
        const bool both = sends[static_cast<std::size_t>(agent)][static_cast<std::size_t>(to)];
        if (both && to != origin && step(origin, to) == step(origin, agent)) ++bid.common;
      }
      if (bid.common > 0) pairs.push_back(bid);
    }
  }
  return pairs;
}

struct Quality {
  std::size_t pairs = 0;
  std::int64_t common = 0;
  std::size_t sharing = 0;  ///< pairs whose agent has another origin in the step
};

/// Returns the result of REQ, ACCEPT, DROP and EXIT without interruption: no two ranks prefer each
/// other to their partners.
Quality paper_selection(const Machine& machine, std::vector<Bid> pairs) {
  std::sort(pairs.begin(), pairs.end(), better);
  const auto size = static_cast<std::size_t>(machine.size());
  std::vector<Halves> halves;
  for (int region = 0; region < machine.regions(); ++region) halves.emplace_back(machine, region);
  const auto steps = static_cast<std::size_t>(halves.front().steps());
  std::vector<bool> has_agent(size * steps, false), has_origin(size * steps, false);
  Quality quality;
  for (const Bid& pair : pairs) {
    const Halves& own = halves[static_cast<std::size_t>(machine.region_of(pair.origin))];
    const auto step = static_cast<std::size_t>(own.step_to(machine.region_of(pair.agent)));
    const std::size_t from = static_cast<std::size_t>(pair.origin) * steps + step;
    const std::size_t to = static_cast<std::size_t>(pair.agent) * steps + step;
    if (has_agent[from] || has_origin[to]) continue;
    has_agent[from] = has_origin[to] = true;
    ++quality.pairs;
    quality.common += pair.common;
  }
  return quality;
}

Quality quality_of(const Selection& selection, const std::vector<Bid>& pairs,
                   std::size_t most_origins) {
  Quality quality;
  std::map<std::pair<int, int>, std::int64_t> common;
  for (const Bid& pair : pairs) common[{pair.origin, pair.agent}] = pair.common;
  for (std::size_t rank = 0; rank < selection.steps.size(); ++rank) {
    for (std::size_t step = 0; step < selection.steps[rank].size(); ++step) {
      const int agent = selection.steps[rank][step].agent;
      if (agent < 0) continue;
      const std::vector<int>& origins =
          selection.steps[static_cast<std::size_t>(agent)][step].origins;
      CHECK_EQUAL(std::count(origins.begin(), origins.end(), static_cast<int>(rank)), 1);
      CHECK(origins.size() <= most_origins);
      if (origins.size() == 2) ++quality.sharing;
      ++quality.pairs;
      quality.common += common.at({static_cast<int>(rank), agent});
    }
  }
  return quality;
}

}  // namespace

TEST(halving_agents_are_as_good_as_the_papers) {
  std::cout << "  ranks  per region  density   pairs, of the paper's   common neighbours   control "
               "messages, "
               "paper's\n";
  struct Size {
    int ranks, per_region;
    double density;
  };
  for (const auto& [ranks, per_region, density] :
       {Size{240, 12, 0.05}, Size{240, 12, 0.3}, Size{512, 32, 0.05}, Size{512, 8, 0.1},
        Size{540, 36, 0.7}}) {
    std::vector<int> places;
    for (int rank = 0; rank < ranks; ++rank) places.push_back(rank / per_region);
    const auto machine = std::make_shared<const Machine>(places, places);
    const OutEdges graph = random_graph(ranks, density, 7);
    const std::vector<Bid> pairs = all_pairs(*machine, graph);
    const Quality paper = paper_selection(*machine, pairs);
    const std::size_t paper_messages =
        2 * static_cast<std::size_t>(ranks) * static_cast<std::size_t>(ranks - per_region);
    for (const int most_origins : {1, 2}) {
      const Selection selection = select(machine, graph, most_origins);
      const Quality ours = quality_of(selection, pairs, static_cast<std::size_t>(most_origins));
      std::cout << "  " << ranks << "  " << per_region << "  " << density << "   " << ours.pairs
                << " of " << paper.pairs << ", sharing " << ours.sharing << "   " << ours.common
                << " of " << paper.common << "   " << selection.messages << ", " << paper_messages
                << '\n';
      CHECK(100 * ours.pairs >= 95 * paper.pairs);
      CHECK(100 * ours.common >= 95 * paper.common);
      CHECK(selection.messages < paper_messages);
    }
  }
}

}  // namespace vicinal::halving::halving_agents_tests
