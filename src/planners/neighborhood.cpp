// Graph creation: a census of all ranks, and where that finds nothing wrong, one superstep in which each
// rank tells its region which other regions it talks to, and the lowest rank it talks to there. From
// that every member knows the links and gates of its component.
#include "planners/neighborhood.hpp"

#include <algorithm>
#include <map>

#include "planners/census.hpp"
#include "planners/edge_search.hpp"

namespace vicinal {

namespace {

/// Lowest peer in each other region, as words: count, then (region, peer) pairs.
void write_links(Words& words, const Machine& machine, int region, std::span<const int> peers) {
  std::map<int, int> lowest;
  for (const int peer : peers) {
    const int other = machine.region_of(peer);
    if (other == region) continue;
    const auto [entry, fresh] = lowest.emplace(other, peer);
    if (!fresh) entry->second = std::min(entry->second, peer);
  }
  words.push_back(static_cast<std::int64_t>(lowest.size()));
  for (const auto& [other, peer] : lowest) {
    words.push_back(other);
    words.push_back(peer);
  }
}

/// Adds what one member wrote; members come in ascending order.
std::size_t read_links(std::map<int, RegionLink>& links, const Words& words, std::size_t at,
                       int member) {
  const auto count = static_cast<std::size_t>(words[at++]);
  for (std::size_t i = 0; i < count; ++i, at += 2) {
    const int region = static_cast<int>(words[at]);
    const int peer = static_cast<int>(words[at + 1]);
    const auto [entry, fresh] = links.try_emplace(region, RegionLink{region, member, peer, {}});
    if (!fresh) entry->second.gate_there = std::min(entry->second.gate_there, peer);
    entry->second.members.push_back(member);
  }
  return at;
}

std::vector<RegionLink> values(std::map<int, RegionLink>&& links) {
  std::vector<RegionLink> result;
  result.reserve(links.size());
  for (auto& [region, link] : links) result.push_back(std::move(link));
  return result;
}

}  // namespace

std::set<int> Neighborhood::dependents() const {
  std::set<int> ranks(sources.begin(), sources.end());
  ranks.insert(destinations.begin(), destinations.end());
  ranks.insert(active.begin(), active.end());
  ranks.erase(rank);
  return ranks;
}

Task<Neighborhood> meet(Conversation& conversation, std::shared_ptr<const Machine> machine,
                        int rank, std::vector<int> sources, std::vector<int> destinations,
                        Premises premises) {
  conversation.set_purpose("creating a graph");
  FaultRecord faults(rank, "edges", "creating the graph");
  if (premises.fault) {
    faults.blame(*premises.fault);
    sources.clear();
    destinations.clear();
  }
  const RankTree all = whole_tree(rank, machine->size());
  Census census(all, machine->size(), sources, destinations, fingerprint(premises.settings));
  co_await consult(conversation, all, faults, census);
  faults.settle();
  if (census.other_settings() >= 0) {
    const Error fault = co_await find_difference(
        conversation, all, faults, std::move(premises.settings), census.other_settings());
    throw SettledFault(fault);
  }
  if (census.edges_differ()) {
    const Error fault = co_await find_odd_edges(conversation, all, faults, sources, destinations);
    throw SettledFault(fault);
  }

  Neighborhood result;
  result.tree = census.component_tree();
  const auto members = machine->members(machine->region_of(rank));
  Words words{census.component()};
  write_links(words, *machine, machine->region_of(rank), destinations);
  write_links(words, *machine, machine->region_of(rank), sources);
  std::vector<Letter> outbox;
  for (const int member : members) outbox.push_back({member, words});
  const std::vector<Letter> inbox = co_await conversation.exchange(
      std::move(outbox), members.size(), [members](std::span<const Letter> arrived) {
        return letters_of({members.begin(), members.end()}, arrived, "links");
      });

  std::map<int, RegionLink> out, in;
  for (const Letter& letter : inbox) {
    if (letter.words[0] < 0 || letter.words[0] != census.component()) continue;
    result.active.push_back(letter.peer);
    const std::size_t next = read_links(out, letter.words, 1, letter.peer);
    read_links(in, letter.words, next, letter.peer);
  }
  result.machine = std::move(machine);
  result.rank = rank;
  result.sources = std::move(sources);
  result.destinations = std::move(destinations);
  result.out = values(std::move(out));
  result.in = values(std::move(in));
  co_return result;
}

}  // namespace vicinal
