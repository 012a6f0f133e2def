// The letters of agent selection. Nothing in them depends on counts, so that no rank's fault
// changes what the others agree on, or how many letters they expect.
#include "planners/halving/agents.hpp"

#include <algorithm>
#include <array>
#include <optional>
#include <set>

#include "planners/halving/rank_list.hpp"

namespace vicinal::halving {

namespace {

/// The rounds of bids and answers among chiefs. On random graphs of 240 to 2,160 ranks, 8 rounds of
/// competition find 98% or more of the agents that rounds without end would, 4 rounds 87% or more.
/// The others are for those who are left.
constexpr std::array agent_rounds{
    Stage::compete, Stage::compete, Stage::compete, Stage::compete, Stage::compete, Stage::compete,
    Stage::compete, Stage::compete, Stage::fill,    Stage::fill,    Stage::share,   Stage::share,
};

/// The ranks of a list of edges, each once, without this one.
std::vector<int> others(const std::vector<int>& edges, int rank) {
  std::set<int> ranks(edges.begin(), edges.end());
  ranks.erase(rank);
  return {ranks.begin(), ranks.end()};
}

/// What a chief gets from outside on the way to its first bid.
class Introductions {
 public:
  explicit Introductions(const Neighborhood& neighborhood)
      : neighborhood_(neighborhood), machine_(*neighborhood.machine) {}

  [[nodiscard]] bool is_chief() const { return neighborhood_.active.front() == neighborhood_.rank; }

  std::vector<Letter> write_destinations() const {
    Words words;
    write_ranks(words, others(neighborhood_.destinations, neighborhood_.rank), machine_.size());
    std::vector<Letter> outbox;
    outbox.push_back({neighborhood_.active.front(), std::move(words)});
    return outbox;
  }
  [[nodiscard]] std::size_t expected_destinations() const {
    return is_chief() ? neighborhood_.active.size() : 0;
  }
  void read_destinations(const std::vector<Letter>& inbox) {
    for (const Letter& letter : inbox) {
      std::size_t at = 0;
      destinations_[letter.peer] = read_ranks(letter.words, at);
      wanted_.insert(destinations_[letter.peer].begin(), destinations_[letter.peer].end());
    }
  }

  /// This rank's sources, for the chiefs of all of them. Chiefs other than the first rank of their
  /// region, of which there are few, are named.
  std::vector<Letter> write_sources(const std::map<int, int>& chiefs) const {
    Words words;
    write_ranks(words, others(neighborhood_.sources, neighborhood_.rank), machine_.size());
    for (const auto& [region, chief] : chiefs) {
      if (machine_.members(region).front() != chief) words.insert(words.end(), {region, chief});
    }
    std::vector<Letter> outbox;
    for (const auto& [region, chief] : chiefs) outbox.push_back({chief, words});
    return outbox;
  }
  [[nodiscard]] std::size_t expected_sources() const { return wanted_.size(); }
  void read_sources(const std::vector<Letter>& inbox) {
    for (const Letter& letter : inbox) {
      std::size_t at = 0;
      sources_[letter.peer] = read_ranks(letter.words, at);
      for (; at < letter.words.size(); at += 2) {
        chiefs_[static_cast<int>(letter.words[at])] = static_cast<int>(letter.words[at + 1]);
      }
    }
  }

  [[nodiscard]] std::string missing_sources(std::span<const Letter> arrived) const {
    return letters_of({wanted_.begin(), wanted_.end()}, arrived, "sources");
  }

  [[nodiscard]] Chief chief(const Halves& halves) const {
    return Chief(machine_, halves, neighborhood_.region(), destinations_, sources_);
  }
  [[nodiscard]] int chief_of(int region) const {
    const auto named = chiefs_.find(region);
    return named == chiefs_.end() ? machine_.members(region).front() : named->second;
  }
  [[nodiscard]] std::string missing_chiefs(const std::vector<int>& regions,
                                           std::span<const Letter> arrived,
                                           std::string_view what) const {
    std::vector<int> chiefs;
    for (const int region : regions) chiefs.push_back(chief_of(region));
    return letters_of(std::move(chiefs), arrived, what);
  }

 private:
  const Neighborhood& neighborhood_;
  const Machine& machine_;
  std::map<int, std::vector<int>> destinations_;  ///< by member
  std::map<int, std::vector<int>> sources_;       ///< by destination of members
  std::set<int> wanted_;
  std::map<int, int> chiefs_;  ///< by region, of those that are not its first rank
};

std::vector<Letter> write_partners(const Chief& chief, const std::vector<int>& members) {
  std::vector<Letter> outbox;
  for (const int member : members) {
    Words words;
    for (const StepPartners& step : chief.partners(member)) {
      words.push_back(step.agent);
      words.push_back(static_cast<std::int64_t>(step.origins.size()));
      words.insert(words.end(), step.origins.begin(), step.origins.end());
    }
    outbox.push_back({member, std::move(words)});
  }
  return outbox;
}

std::vector<StepPartners> read_partners(const Words& words) {
  std::vector<StepPartners> result;
  for (std::size_t at = 0; at < words.size();) {
    StepPartners& step = result.emplace_back();
    step.agent = static_cast<int>(words[at++]);
    for (std::int64_t left = words[at++]; left > 0; --left) {
      step.origins.push_back(static_cast<int>(words[at++]));
    }
  }
  return result;
}

}  // namespace

Task<std::vector<StepPartners>> find_agents(Conversation& conversation,
                                            const Neighborhood& neighborhood, const Halves& halves,
                                            std::map<int, int> chiefs, int most_origins) {
  Introductions known(neighborhood);
  std::vector<Letter> outbox = known.write_destinations();
  Missing missing = [&](auto arrived) {
    return letters_of(neighborhood.active, arrived, "destinations");
  };
  known.read_destinations(co_await conversation.exchange(
      std::move(outbox), known.expected_destinations(), std::move(missing)));
  outbox = known.write_sources(chiefs);
  missing = [&](auto arrived) { return known.missing_sources(arrived); };
  known.read_sources(co_await conversation.exchange(std::move(outbox), known.expected_sources(),
                                                    std::move(missing)));

  std::optional<Chief> chief;
  if (known.is_chief()) chief.emplace(known.chief(halves));
  for (const Stage stage : agent_rounds) {
    if (stage == Stage::share && most_origins == 1) continue;
    outbox.clear();
    if (chief) {
      std::vector<Words> bids = chief->bid(stage);
      for (std::size_t i = 0; i < bids.size(); ++i) {
        outbox.push_back({known.chief_of(chief->outward()[i]), std::move(bids[i])});
      }
    }
    const std::size_t bidding = chief ? chief->inward().size() : 0;
    missing = [&](auto arrived) { return known.missing_chiefs(chief->inward(), arrived, "bids"); };
    const std::vector<Letter> bids =
        co_await conversation.exchange(std::move(outbox), bidding, std::move(missing));

    outbox.clear();
    if (chief) {
      chief->decide(stage, bids);
      for (const int region : chief->inward()) {
        outbox.push_back({known.chief_of(region), chief->answer(region)});
      }
    }
    const std::size_t answering = chief ? chief->outward().size() : 0;
    missing = [&](auto arrived) {
      return known.missing_chiefs(chief->outward(), arrived, "answers");
    };
    const std::vector<Letter> answers =
        co_await conversation.exchange(std::move(outbox), answering, std::move(missing));
    for (const Letter& letter : answers) {
      chief->learn(neighborhood.machine->region_of(letter.peer), letter.words);
    }
  }

  outbox.clear();
  if (chief) outbox = write_partners(*chief, neighborhood.active);
  missing = [&](auto arrived) {
    return letters_of({neighborhood.active.front()}, arrived, "word on agents");
  };
  const std::vector<Letter> inbox =
      co_await conversation.exchange(std::move(outbox), 1, std::move(missing));
  std::vector<StepPartners> result = read_partners(inbox.front().words);
  co_return result;
}

}  // namespace vicinal::halving
