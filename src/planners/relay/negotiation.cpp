// The course of a negotiation, and the parts that its supersteps share.
#include "planners/relay/negotiation.hpp"

#include <algorithm>
#include <set>
#include <sstream>

namespace vicinal {

Task<Plans> plan_with(PlanRequest request, RelayPolicy policy, std::string_view planner) {
  RelayNegotiation negotiation(request, policy);
  co_return co_await negotiation.run(planner);
}

Task<Plans> RelayNegotiation::run(std::string_view planner) {
  if (takes_part()) {
    if (policy_.decision != RelayPolicy::Decision::never) {
      co_await tell_loads();
      co_await hand_in_streams();
      co_await pass_introductions_on();
      co_await place_contributions();
    }
    co_await deliver();
  }
  transfers_.move(Phase::direct, Plan::source, Plan::target,
                  join_self(rank_, out_links_, in_links_, faults_));
  send_led();
  if (faults_.good()) check_covered();
  Plans plans = finish(planner, reason());
  if (view_) plans.forecast = view_->forecast;
  co_return plans;
}

RelayNegotiation::RelayNegotiation(PlanRequest& request, const RelayPolicy& policy)
    : Ground(request), policy_(policy) {
  find_links(policy.identity);
  if (policy.decision == RelayPolicy::Decision::never) return;
  std::map<int, std::vector<const OutLink*>> links;
  for (const auto& [peer, link] : out_links_) {
    if (!same_region(peer)) links[machine_.region_of(peer)].push_back(&link);
  }
  out_.reserve(links.size());
  for (const auto& [region, its] : links) {
    OutPair& pair = pair_of(out_, neighborhood_.out(), number_of(neighborhood_.out(), region));
    pair.contributes = true;
    for (const OutLink* link : its) pair.destinations.push_back(link->peer);
    pair.stream = merge(its);
  }
  std::set<std::size_t> numbers;
  for (const auto& [peer, link] : in_links_) {
    if (same_region(peer)) continue;
    numbers.insert(number_of(neighborhood_.in(), machine_.region_of(peer)));
  }
  in_.reserve(numbers.size());
  for (const std::size_t number : numbers) {
    pair_of(in_, neighborhood_.in(), number).consumes = true;
  }
}

/// Returns the index of the link to `region` among links that are ordered by region.
std::size_t RelayNegotiation::number_of(const std::vector<RegionLink>& links, int region) {
  const auto found =
      std::lower_bound(links.begin(), links.end(), region,
                       [](const RegionLink& link, int value) { return link.region < value; });
  return static_cast<std::size_t>(found - links.begin());
}

bool RelayNegotiation::leads(const std::vector<int>& leaders) const {
  return std::find(leaders.begin(), leaders.end(), rank_) != leaders.end();
}

OutPair& RelayNegotiation::out_pair(int region) {
  return pair_of(out_, neighborhood_.out(), number_of(neighborhood_.out(), region));
}

InPair& RelayNegotiation::in_pair(int region) {
  return pair_of(in_, neighborhood_.in(), number_of(neighborhood_.in(), region));
}

std::string RelayNegotiation::reason() const {
  using Decision = RelayPolicy::Decision;
  if (policy_.decision == Decision::never) return {};
  int regions = 0, relayed = 0;
  for (const OutPair& pair : out_) {
    regions += pair.contributes ? 1 : 0;
    relayed += pair.contributes && pair.verdict == Verdict::relayed ? 1 : 0;
  }
  if (regions == 0) return "has nothing of its own for other regions";
  const bool is_cheaper = policy_.decision == Decision::cheaper;
  std::ostringstream text;
  text << "goes by leaders to ";
  if (relayed == 0) {
    text << "none of " << regions << " other regions, since that would "
         << (is_cheaper ? "not relieve the busiest rank" : "save no messages");
  } else {
    text << relayed << " of " << regions << " other regions, where that "
         << (is_cheaper ? "is expected to relieve the busiest rank" : "saves messages");
  }
  return text.str();
}

}  // namespace vicinal
