// The letters of agent selection. Nothing in them depends on counts, so that no rank's fault
// changes what the others agree on, or how many letters they expect.
#include "planners/halving/agents.hpp"

#include <algorithm>
#include <array>
#include <optional>
#include <set>

#include "base/letters.hpp"
#include "planners/halving/rank_list.hpp"

namespace vicinal::halving {

namespace {

/// The rounds of bids and answers among region leaders. On random graphs of 240 to 2,160 ranks, 8 rounds of
/// competition find 98% or more of the agents that rounds without end would, 4 rounds 87% or more.
/// The others are for those who are left.
constexpr std::array agent_rounds{
    Stage::compete, Stage::compete, Stage::compete, Stage::compete, Stage::compete, Stage::compete,
    Stage::compete, Stage::compete, Stage::fill,    Stage::fill,    Stage::share,   Stage::share,
};

/// A member's destinations, for its region leader.
struct Destinations {
  static constexpr std::string_view name = "destinations";
  RankSet ranks;
};
void fields(auto&& take, Is<Destinations> auto& it) { take(it.ranks); }

/// A rank's sources, for the region leaders of all of them.
struct Sources {
  static constexpr std::string_view name = "sources";
  struct Named {
    int region = 0;
    int region_leader = 0;
  };
  RankSet ranks;
  std::vector<Named>
      region_leaders;  ///< those other than the first rank of their region, of which there are few
};
void fields(auto&& take, Is<Sources::Named> auto& it) { take(it.region, it.region_leader); }
void fields(auto&& take, Is<Sources> auto& it) { take(it.ranks, it.region_leaders); }

/// From region leader to region leader.
struct Bids {
  static constexpr std::string_view name = "bids";
  std::vector<Bid> bids;
};
void fields(auto&& take, Is<Bids> auto& it) { take(it.bids); }

/// And back.
struct Answer {
  static constexpr std::string_view name = "answer";
  std::vector<Bid> held;
};
void fields(auto&& take, Is<Answer> auto& it) { take(it.held); }

/// From a region leader to its members: their partners by step.
struct Partners {
  static constexpr std::string_view name = "partners";
  std::vector<StepPartners> steps;
};
void fields(auto&& take, Is<Partners> auto& it) { take(it.steps); }

/// The ranks of a list of edges, each once, without this one.
std::vector<int> others(const std::vector<int>& edges, int rank) {
  std::set<int> ranks(edges.begin(), edges.end());
  ranks.erase(rank);
  return {ranks.begin(), ranks.end()};
}

/// What a region leader gets from outside on the way to its first bid.
class Introductions {
 public:
  explicit Introductions(const Neighborhood& neighborhood)
      : neighborhood_(neighborhood), machine_(*neighborhood.machine) {}

  [[nodiscard]] bool leads_region() const {
    return neighborhood_.active().front() == neighborhood_.rank;
  }

  std::vector<Letter> write_destinations() const {
    const auto ranks = others(neighborhood_.destinations, neighborhood_.rank);
    std::vector<Letter> outbox;
    outbox.push_back(
        letter_to(neighborhood_.active().front(), Destinations{set_of(ranks, machine_.size())}));
    return outbox;
  }
  [[nodiscard]] Expected expected_destinations() const {
    if (!leads_region()) return {};
    return {neighborhood_.active(), "destinations"};
  }
  void read_destinations(const std::vector<Letter>& inbox) {
    for (const Letter& letter : inbox) {
      const auto ranks = ranks_of(contents_of<Destinations>(letter).ranks);
      destinations_[letter.peer] = ranks;
      wanted_.insert(ranks.begin(), ranks.end());
    }
  }

  std::vector<Letter> write_sources(const std::map<int, int>& region_leaders) const {
    const auto ranks = others(neighborhood_.sources, neighborhood_.rank);
    Sources sources{set_of(ranks, machine_.size()), {}};
    for (const auto& [region, region_leader] : region_leaders) {
      if (machine_.members(region).front() != region_leader)
        sources.region_leaders.push_back({region, region_leader});
    }
    std::vector<Letter> outbox;
    for (const auto& [region, region_leader] : region_leaders)
      outbox.push_back(letter_to(region_leader, sources));
    return outbox;
  }
  [[nodiscard]] Expected expected_sources() const {
    return {{wanted_.begin(), wanted_.end()}, "sources"};
  }
  void read_sources(const std::vector<Letter>& inbox) {
    for (const Letter& letter : inbox) {
      const auto sources = contents_of<Sources>(letter);
      sources_[letter.peer] = ranks_of(sources.ranks);
      for (const auto& [region, region_leader] : sources.region_leaders)
        region_leaders_[region] = region_leader;
    }
  }

  [[nodiscard]] RegionLeader region_leader(const Halves& halves) const {
    return RegionLeader(machine_, halves, neighborhood_.region(), destinations_, sources_);
  }
  [[nodiscard]] int region_leader_of(int region) const {
    const auto named = region_leaders_.find(region);
    return named == region_leaders_.end() ? machine_.members(region).front() : named->second;
  }
  [[nodiscard]] Expected expected_of(const std::vector<int>& regions, std::string_view what) const {
    std::vector<int> region_leaders;
    for (const int region : regions) region_leaders.push_back(region_leader_of(region));
    return {std::move(region_leaders), what};
  }

 private:
  const Neighborhood& neighborhood_;
  const Machine& machine_;
  std::map<int, std::vector<int>> destinations_;  ///< by member
  std::map<int, std::vector<int>> sources_;       ///< by destination of members
  std::set<int> wanted_;
  std::map<int, int> region_leaders_;  ///< by region, of those that are not its first rank
};

std::vector<Bid> all_of(const std::vector<Letter>& letters) {
  std::vector<Bid> all;
  for (const Letter& letter : letters) {
    const auto bids = contents_of<Bids>(letter).bids;
    all.insert(all.end(), bids.begin(), bids.end());
  }
  return all;
}

}  // namespace

Task<std::vector<StepPartners>> find_agents(Conversation& conversation,
                                            const Neighborhood& neighborhood, const Halves& halves,
                                            std::map<int, int> region_leaders, int most_origins) {
  Introductions known(neighborhood);
  std::vector<Letter> outbox = known.write_destinations();
  known.read_destinations(
      co_await conversation.exchange(std::move(outbox), known.expected_destinations()));
  outbox = known.write_sources(region_leaders);
  known.read_sources(co_await conversation.exchange(std::move(outbox), known.expected_sources()));

  std::optional<RegionLeader> region_leader;
  if (known.leads_region()) region_leader.emplace(known.region_leader(halves));
  for (const Stage stage : agent_rounds) {
    if (stage == Stage::share && most_origins == 1) continue;
    outbox.clear();
    Expected expected;
    if (region_leader) {
      std::vector<std::vector<Bid>> bids = region_leader->bid(stage);
      for (std::size_t i = 0; i < bids.size(); ++i) {
        outbox.push_back(letter_to(known.region_leader_of(region_leader->outward()[i]),
                                   Bids{std::move(bids[i])}));
      }
      expected = known.expected_of(region_leader->inward(), "bids");
    }
    const std::vector<Letter> bids =
        co_await conversation.exchange(std::move(outbox), std::move(expected));

    outbox.clear();
    expected = {};
    if (region_leader) {
      region_leader->decide(stage, all_of(bids));
      for (const int region : region_leader->inward()) {
        outbox.push_back(
            letter_to(known.region_leader_of(region), Answer{region_leader->answer(region)}));
      }
      expected = known.expected_of(region_leader->outward(), "answers");
    }
    const std::vector<Letter> answers =
        co_await conversation.exchange(std::move(outbox), std::move(expected));
    for (const Letter& letter : answers) {
      region_leader->learn(neighborhood.machine->region_of(letter.peer),
                           contents_of<Answer>(letter).held);
    }
  }

  outbox.clear();
  if (region_leader) {
    for (const int member : neighborhood.active()) {
      outbox.push_back(letter_to(member, Partners{region_leader->partners(member)}));
    }
  }
  const std::vector<Letter> inbox = co_await conversation.exchange(
      std::move(outbox), Expected(neighborhood.active().front(), "word on agents"));
  co_return contents_of<Partners>(inbox.front()).steps;
}

}  // namespace vicinal::halving
