// The course of a negotiation, and what is common to its supersteps.
#include "planners/relay/negotiation.hpp"

#include <algorithm>
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
  co_return finish(planner, reason());
}

RelayNegotiation::RelayNegotiation(PlanRequest& request, const RelayPolicy& policy)
    : Ground(request), policy_(policy) {
  find_links(policy.identity);
  for (const RegionLink& link : neighborhood_.out) {
    OutPair& pair = out_.emplace_back();
    pair.link = &link;
    std::vector<const OutLink*> links;
    for (const auto& [peer, out] : out_links_) {
      if (machine_.region_of(peer) != link.region) continue;
      links.push_back(&out);
      pair.destinations.push_back(peer);
    }
    pair.contributes = !links.empty();
    if (policy.decision != RelayPolicy::Decision::never) pair.stream = merge(links);
  }
  for (const RegionLink& link : neighborhood_.in) {
    InPair& pair = in_.emplace_back();
    pair.link = &link;
    pair.consumes = std::binary_search(link.members.begin(), link.members.end(), rank_);
  }
}

bool RelayNegotiation::leads(const std::vector<int>& leaders) const {
  return std::find(leaders.begin(), leaders.end(), rank_) != leaders.end();
}

OutPair& RelayNegotiation::out_pair(int region) {
  return *std::find_if(out_.begin(), out_.end(),
                       [&](const OutPair& pair) { return pair.link->region == region; });
}

InPair& RelayNegotiation::in_pair(int region) {
  return *std::find_if(in_.begin(), in_.end(),
                       [&](const InPair& pair) { return pair.link->region == region; });
}

std::string RelayNegotiation::reason() const {
  using Decision = RelayPolicy::Decision;
  if (policy_.decision == Decision::never) return {};
  int regions = 0, relayed = 0;
  for (const OutPair& pair : out_) {
    regions += pair.contributes ? 1 : 0;
    relayed += pair.contributes && pair.verdict == Verdict::relayed ? 1 : 0;
  }
  std::ostringstream text;
  text << "goes by leaders to " << relayed << " of " << regions << " other regions, where that "
       << (policy_.decision == Decision::cheaper ? "takes less time by the cost model"
                                                 : "saves messages");
  return text.str();
}

}  // namespace vicinal
