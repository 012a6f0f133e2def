// The control messages of agent selection. None of them depends on counts. So a rank's fault
// changes neither the agreement of other ranks nor the number of control messages that they expect.
#include "planners/halving/agents.hpp"

#include <algorithm>
#include <array>
#include <optional>
#include <set>

#include "base/conversation.hpp"
#include "planners/halving/rank_list.hpp"

namespace vicinal::halving {

namespace {

/// The rounds of bids and answers among region leaders. On random graphs of 240 to 2,160 ranks, 8
/// rounds of competition find 98% or more of the agents of unlimited rounds; 4 rounds find 87% or
/// more. The other rounds are for the remaining ranks.
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
  /// Region leaders other than the first rank of their region; there are few.
  std::vector<Named> region_leaders;
};
void fields(auto&& take, Is<Sources::Named> auto& it) { take(it.region, it.region_leader); }
void fields(auto&& take, Is<Sources> auto& it) { take(it.ranks, it.region_leaders); }

/// From region leader to region leader.
struct Bids {
  static constexpr std::string_view name = "bids";
  std::vector<Bid> bids;
};
void fields(auto&& take, Is<Bids> auto& it) { take(it.bids); }

/// The answer to bids.
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

/// Returns the ranks of a list of edges, each once, without this one.
std::vector<int> others(const std::vector<int>& edges, int rank) {
  std::set<int> ranks(edges.begin(), edges.end());
  ranks.erase(rank);
  return {ranks.begin(), ranks.end()};
}

/// The data that a region leader receives before its first bid.
class Introductions {
 public:
  explicit Introductions(const Neighborhood& neighborhood)
      : neighborhood_(neighborhood), machine_(*neighborhood.machine) {}

  [[nodiscard]] bool leads_region() const {
    return neighborhood_.active().front() == neighborhood_.rank;
  }

  std::vector<ControlMessage> write_destinations() const {
    const auto ranks = others(neighborhood_.destinations, neighborhood_.rank);
    std::vector<ControlMessage> outbox;
    outbox.push_back(
        message_to(neighborhood_.active().front(), Destinations{set_of(ranks, machine_.size())}));
    return outbox;
  }
  [[nodiscard]] Expected expected_destinations() const {
    if (!leads_region()) return {};
    return {neighborhood_.active(), "destinations"};
  }
  void read_destinations(const std::vector<ControlMessage>& inbox) {
    for (const ControlMessage& message : inbox) {
      const auto ranks = ranks_of(contents_of<Destinations>(message).ranks);
      destinations_[message.peer] = ranks;
      wanted_.insert(ranks.begin(), ranks.end());
    }
  }

  std::vector<ControlMessage> write_sources(const std::map<int, int>& region_leaders) const {
    const auto ranks = others(neighborhood_.sources, neighborhood_.rank);
    Sources sources{set_of(ranks, machine_.size()), {}};
    for (const auto& [region, region_leader] : region_leaders) {
      if (machine_.members(region).front() != region_leader)
        sources.region_leaders.push_back({region, region_leader});
    }
    std::vector<ControlMessage> outbox;
    for (const auto& [region, region_leader] : region_leaders)
      outbox.push_back(message_to(region_leader, sources));
    return outbox;
  }
  [[nodiscard]] Expected expected_sources() const {
    return {{wanted_.begin(), wanted_.end()}, "sources"};
  }
  void read_sources(const std::vector<ControlMessage>& inbox) {
    for (const ControlMessage& message : inbox) {
      const auto sources = contents_of<Sources>(message);
      sources_[message.peer] = ranks_of(sources.ranks);
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
  std::map<int, int> region_leaders_;  ///< by region; only leaders other than its first rank
};

std::vector<Bid> all_of(const std::vector<ControlMessage>& messages) {
  std::vector<Bid> all;
  for (const ControlMessage& message : messages) {
    const auto bids = contents_of<Bids>(message).bids;
    all.insert(all.end(), bids.begin(), bids.end());
  }
  return all;
}

}  // namespace

Task<std::vector<StepPartners>> find_agents(Conversation& conversation,
                                            const Neighborhood& neighborhood, const Halves& halves,
                                            std::map<int, int> region_leaders, int most_origins) {
  Introductions known(neighborhood);
  std::vector<ControlMessage> outbox = known.write_destinations();
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
        outbox.push_back(message_to(known.region_leader_of(region_leader->outward()[i]),
                                    Bids{std::move(bids[i])}));
      }
      expected = known.expected_of(region_leader->inward(), "bids");
    }
    const std::vector<ControlMessage> bids =
        co_await conversation.exchange(std::move(outbox), std::move(expected));

    outbox.clear();
    expected = {};
    if (region_leader) {
      region_leader->decide(stage, all_of(bids));
      for (const int region : region_leader->inward()) {
        outbox.push_back(
            message_to(known.region_leader_of(region), Answer{region_leader->answer(region)}));
      }
      expected = known.expected_of(region_leader->outward(), "answers");
    }
    const std::vector<ControlMessage> answers =
        co_await conversation.exchange(std::move(outbox), std::move(expected));
    for (const ControlMessage& message : answers) {
      region_leader->learn(neighborhood.machine->region_of(message.peer),
                           contents_of<Answer>(message).held);
    }
  }

  outbox.clear();
  if (region_leader) {
    for (const int member : neighborhood.active()) {
      outbox.push_back(message_to(member, Partners{region_leader->partners(member)}));
    }
  }
  const std::vector<ControlMessage> inbox = co_await conversation.exchange(
      std::move(outbox), Expected(neighborhood.active().front(), "word on agents"));
  co_return contents_of<Partners>(inbox.front()).steps;
}

}  // namespace vicinal::halving
