// Graph creation. Each rank tells its region which other regions it talks to, and the lowest rank
// it talks to in each. From these control messages every member derives the links and contact ranks
// of its component. They travel during the census of all ranks, and are read if it finds no error.
// If it finds several components, members also send their component.
#include "negotiate/neighborhood.hpp"

#include <algorithm>
#include <map>

#include "base/conversation.hpp"
#include "negotiate/census.hpp"

namespace vicinal {

namespace {

/// Another region that a rank talks to, and the lowest rank there.
struct FarPeers {
  int region = 0;
  int lowest = 0;
};
void fields(auto&& take, Is<FarPeers> auto& it) { take(it.region, it.lowest); }

/// A rank's links, for its region.
struct Links {
  static constexpr std::string_view name = "links";
  std::vector<FarPeers> out;
  std::vector<FarPeers> in;
};
void fields(auto&& take, Is<Links> auto& it) { take(it.out, it.in); }

struct Member {
  static constexpr std::string_view name = "component";
  int component = -1;
};
void fields(auto&& take, Is<Member> auto& it) { take(it.component); }

std::vector<FarPeers> far_peers(const Machine& machine, int region, std::span<const int> peers) {
  std::map<int, int> lowest;
  for (const int peer : peers) {
    const int other = machine.region_of(peer);
    if (other == region) continue;
    const auto [entry, fresh] = lowest.emplace(other, peer);
    if (!fresh) entry->second = std::min(entry->second, peer);
  }
  std::vector<FarPeers> result;
  for (const auto& [other, peer] : lowest) result.push_back({other, peer});
  return result;
}

/// Adds the links of one member. Members come in ascending order.
void add(std::map<int, RegionLink>& links, const std::vector<FarPeers>& far, int member) {
  for (const auto& [region, peer] : far) {
    const auto [entry, fresh] = links.try_emplace(region, RegionLink{region, member, peer, {}});
    if (!fresh) entry->second.contact_there = std::min(entry->second.contact_there, peer);
    entry->second.members.push_back(member);
  }
}

std::vector<RegionLink> values(std::map<int, RegionLink>&& links) {
  std::vector<RegionLink> result;
  result.reserve(links.size());
  for (auto& [region, link] : links) result.push_back(std::move(link));
  return result;
}

/// Builds the links from the control messages of all members of a region. A member that does not
/// send its component belongs to this one.
RegionLinks region_links(std::span<const ControlMessage> messages, int component) {
  RegionLinks result;
  std::set<int> others;
  std::map<int, Links> links;
  for (const ControlMessage& each : messages) {
    open<Links, Member>(each, Either{[&](Links its) { links[each.peer] = std::move(its); },
                                     [&](Member its) {
                                       if (its.component != component || component < 0)
                                         others.insert(each.peer);
                                     }});
  }
  std::map<int, RegionLink> out, in;
  for (const auto& [member, its] : links) {
    if (others.contains(member)) continue;
    result.active.push_back(member);
    add(out, its.out, member);
    add(in, its.in, member);
  }
  result.out = values(std::move(out));
  result.in = values(std::move(in));
  return result;
}

}  // namespace

std::set<int> Neighborhood::dependents() const {
  std::set<int> ranks(sources.begin(), sources.end());
  ranks.insert(destinations.begin(), destinations.end());
  ranks.insert(active().begin(), active().end());
  ranks.erase(rank);
  return ranks;
}

Task<Neighborhood> make_neighborhood(Conversation& conversation,
                                     std::shared_ptr<const Machine> machine, int rank,
                                     std::vector<int> sources, std::vector<int> destinations,
                                     Premises premises) {
  conversation.set_purpose("creating a graph");
  FaultRecord faults(rank, "edges", "creating the graph");
  if (premises.fault) {
    faults.blame(*premises.fault);
    sources.clear();
    destinations.clear();
  }
  const Machine& detected = premises.detected ? *premises.detected : *machine;
  const RankTree all = whole_tree(rank, detected.size(), blocks_of(detected));
  const int region = machine->region_of(rank);
  const auto members = machine->members(region);
  const int until_read = 2 * all.levels + 1;
  const ControlMessage links = message_to(
      rank, Links{far_peers(*machine, region, destinations), far_peers(*machine, region, sources)});
  std::vector<ControlMessage> outbox;
  for (const int member : members) outbox.push_back({member, links.words, until_read});
  co_await conversation.exchange(std::move(outbox));
  const Census::Edges edges{
      sources, destinations,
      premises.idle_ranks_lead ? std::optional(members.front()) : std::nullopt};
  Census census(all, machine->size(), edges, premises.fingerprint);
  co_await tree_allreduce(conversation, all, faults, census);
  faults.settle();
  if (census.other_settings() >= 0 || census.edges_differ())
    conversation.skip(1);  // past the links
  if (census.other_settings() >= 0) {
    std::vector<Given> given = premises.settings();
    const Error fault = co_await find_difference(conversation, all, faults, std::move(given),
                                                 census.other_settings());
    throw fault.on_all_ranks();
  }
  if (census.edges_differ()) {
    const Error fault = co_await find_odd_edges(conversation, all, faults, sources, destinations);
    throw fault.on_all_ranks();
  }

  Neighborhood result;
  result.tree = census.component_tree();
  result.most_edges = census.most_edges();
  const std::vector<int> writers(members.begin(), members.end());
  Expected expected;
  expected.add(kind_of(Links::name), writers, "links");
  outbox.clear();
  if (!census.is_whole()) {
    for (const int member : members)
      outbox.push_back(message_to(member, Member{census.component()}));
    expected.add(kind_of(Member::name), writers, "components");
  }
  const std::vector<ControlMessage> inbox =
      co_await conversation.exchange(std::move(outbox), std::move(expected));

  // A component is the number of one of its ranks, or -1: `group` is unique to one component of one
  // region.
  const std::int64_t group = std::int64_t{region} * (machine->size() + 1) + census.component() + 1;
  result.links = conversation.alike<RegionLinks>(
      group, [&] { return region_links(inbox, census.component()); });
  result.machine = std::move(machine);
  result.rank = rank;
  result.sources = std::move(sources);
  result.destinations = std::move(destinations);
  co_return result;
}

}  // namespace vicinal
