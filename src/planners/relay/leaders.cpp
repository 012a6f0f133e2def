// Turns summaries into the cost model's region pairs, and places back into ranks.
#include "planners/relay/leaders.hpp"

#include <algorithm>
#include <bit>
#include <cmath>

#include "cost/cores.hpp"

namespace vicinal {

namespace {

std::vector<RegionPair> without_loads(const std::vector<RegionLink>& links, bool outgoing,
                                      const Machine& machine) {
  std::vector<RegionPair> pairs;
  for (const RegionLink& link : links) {
    pairs.push_back(
        {outgoing, link.region, machine.level(link.contact_here, link.contact_there), 1, {}});
  }
  return pairs;
}

void add(LinkView& view, RegionPair& pair, int place, const Summary::Load& load) {
  view.edges += load.edges;
  view.fingerprint += load.fingerprint;
  view.distinct_of.push_back(load.distinct);
  pair.shares.push_back({place, load.edges, load.elements, load.distinct});
  view.peers |= load.peers;
  pair.receivers = std::popcount(view.peers);
}

/// Estimates the distinct items of an incoming pair, which only the senders know. Assumes the same
/// fraction of all items as for data sent back to that region, or else to any region.
void expect_as_sent(RegionPair& pair, const std::vector<RegionPair>& sent) {
  Index elements = 0, distinct = 0;
  const auto add = [&](const RegionPair& other) {
    elements += other.elements();
    distinct += other.distinct();
  };
  for (const RegionPair& other : sent) {
    if (other.region == pair.region) add(other);
  }
  if (elements == 0) std::for_each(sent.begin(), sent.end(), add);
  if (elements == 0) return;
  const double part = static_cast<double>(distinct) / static_cast<double>(elements);
  for (PairShare& share : pair.shares) {
    share.distinct = static_cast<Index>(std::ceil(static_cast<double>(share.elements) * part));
  }
}

double ranks_per_core(const Neighborhood& neighborhood, const Profile& profile) {
  const Machine& machine = *neighborhood.machine;
  const int host = machine.host_of(neighborhood.active().front());
  const double cores = shared_cores(machine, host, profile);
  return cores > 0 ? machine.ranks_on(host) / cores : 1;
}

}  // namespace

RegionView view_region(const Neighborhood& neighborhood, const RelayPolicy& policy,
                       const PlanOptions& options, const std::map<int, Summary>& summaries) {
  const std::vector<int>& active = neighborhood.active();
  RegionView view{std::vector<LinkView>(neighborhood.out().size()),
                  std::vector<LinkView>(neighborhood.in().size())};
  auto pairs = without_loads(neighborhood.out(), true, *neighborhood.machine);
  auto incoming = without_loads(neighborhood.in(), false, *neighborhood.machine);
  std::vector<char> idle;
  for (std::size_t place = 0; place < active.size(); ++place) {
    const Summary& summary = summaries.at(active[place]);
    idle.push_back(summary.idle ? 1 : 0);
    const auto member = static_cast<int>(place);
    for (const auto& load : summary.out) {
      add(view.out.at(load.link), pairs.at(load.link), member, load);
    }
    for (const auto& load : summary.in) {
      add(view.in.at(load.link), incoming.at(load.link), member, load);
    }
  }
  for (RegionPair& pair : incoming) expect_as_sent(pair, pairs);
  pairs.insert(pairs.end(), incoming.begin(), incoming.end());

  RegionLoads loads(
      active.size(), ranks_per_core(neighborhood, options.profile), options.profile,
      {policy.division, options.split_bytes, options.element_bytes, options.bias.of_relaying()});
  loads.plan(std::move(pairs), std::move(idle));
  const auto shift = static_cast<std::size_t>(options.leader_shift);
  const auto take = [&](LinkView& link, std::size_t pair) {
    link.by_contributor = loads.by_contributor(pair);
    for (const int place : loads.leaders(pair)) {
      const auto from = static_cast<std::size_t>(place) + (link.by_contributor ? 0 : shift);
      link.leaders.push_back(active[from % active.size()]);
    }
    link.times = loads.times(pair);
  };
  view.forecast.by_plan = loads.seconds();
  loads.set_state(std::vector(loads.state().size(), RegionLoads::Route::straight));
  view.forecast.by_message = loads.seconds();
  for (std::size_t i = 0; i < view.out.size(); ++i) take(view.out[i], i);
  for (std::size_t i = 0; i < view.in.size(); ++i) take(view.in[i], view.out.size() + i);
  return view;
}

}  // namespace vicinal
