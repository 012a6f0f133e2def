// Choice of how each pair of a region is served: a greedy search from several states. Every member
// gets the same result, since it uses one order and breaks ties by position. Also how both regions
// of a pair weigh their results.
#include <algorithm>
#include <cmath>
#include <queue>
#include <tuple>

#include "cost/region_loads.hpp"

namespace vicinal {

namespace {

double eighth_power(double x) {
  const double square = x * x, fourth = square * square;
  return fourth * fourth;
}

double eighth_root(double x) { return std::sqrt(std::sqrt(std::sqrt(std::max(0.0, x)))); }

}  // namespace

bool relaying_pays(const PairTimes& sender, const PairTimes& receiver) {
  const auto together = [](std::int64_t one, std::int64_t other) {
    return eighth_power(static_cast<double>(one)) + eighth_power(static_cast<double>(other));
  };
  return together(sender.relayed, receiver.relayed) < together(sender.straight, receiver.straight);
}

bool RegionLoads::possible(std::size_t pair, Route route) const {
  using Division = RelayRules::Division;
  const RegionPair& its = pairs_[pair];
  switch (route) {
    case Route::straight: return true;
    case Route::led:
      if (its.outgoing && rules_.division == Division::contributor) return false;
      return its.edges() > parts_[pair] || relieves(pair);
    case Route::by_contributor:
      return its.outgoing && its.edges() > static_cast<Index>(its.shares.size()) &&
             (rules_.division == Division::contributor || rules_.division == Division::best);
  }
  return false;
}

/// Returns whether relaying saves no message, but moves it to a member without other work.
bool RegionLoads::relieves(std::size_t pair) const {
  return rules_.division == RelayRules::Division::best &&
         is_one_for_one(pairs_[pair].edges(), parts_[pair]) &&
         idle_[static_cast<std::size_t>(leaders_[pair].front())] != 0;
}

/// Improves each of the states in which all pairs are served alike, as far as possible, and keeps
/// the best. Some times fall only if all pairs change.
void RegionLoads::find_state() {
  double least = 0;
  std::vector<Route> best;
  for (const Route first : {Route::led, Route::by_contributor, Route::straight}) {
    std::vector<Route> state;
    for (std::size_t pair = 0; pair < pairs_.size(); ++pair) {
      state.push_back(possible(pair, first)        ? first
                      : possible(pair, Route::led) ? Route::led
                                                   : Route::straight);
    }
    set_state(std::move(state));
    improve();
    const bool relays = std::any_of(state_.begin(), state_.end(),
                                    [](Route route) { return route != Route::straight; });
    const double found = seconds() * (relays ? rules_.bias : 1.0);
    if (!best.empty() && found >= least) continue;
    least = found;
    best = state_;
  }
  set_state(std::move(best));
}

/// Repeats the change that reduces the region's time most, while there is one. Recomputes a gain
/// only when it comes up: one change seldom increases the gain of another.
void RegionLoads::improve() {
  using Move = std::tuple<double, std::size_t, Route>;
  std::priority_queue<Move> queue;
  for (std::size_t pair = 0; pair < pairs_.size(); ++pair) {
    for (const Route route : {Route::straight, Route::led, Route::by_contributor}) {
      if (state_[pair] != route && possible(pair, route))
        queue.emplace(gain(pair, route), pair, route);
    }
  }
  std::vector<std::array<int, 3>> looked_at(pairs_.size());  // after how many changes
  for (int changes = 0; !queue.empty();) {
    const auto [known, pair, route] = queue.top();
    queue.pop();
    int& when = looked_at[pair][static_cast<std::size_t>(route)];
    const double now = when == changes ? known : gain(pair, route);
    if (now <= 0) continue;
    if (when == changes || queue.empty() || now >= std::get<0>(queue.top())) {
      change(pair, route);
      ++changes;
    } else {
      when = changes;
      queue.emplace(now, pair, route);
    }
  }
}

/// Combined time of overheads and bytes of messages. While the bytes of one message move, the
/// processor works on the next. With full overlap, the longer of both counts, plus the shorter
/// one's part for a single message. Without overlap, both count in full. The result uses the
/// geometric mean of these two additions.
double RegionLoads::overlapped(double work, double bytes) const {
  const double messages = std::max(1.0, work / one_message_);
  return std::max(work, bytes) + std::min(work, bytes) / std::sqrt(messages);
}

double RegionLoads::seconds() const {
  const auto norm = [&](std::size_t first, std::size_t last) {
    double sum = 0;
    for (std::size_t i = first; i < last; ++i) sum += eighth_power(load_[i]);
    return eighth_root(sum);
  };
  const double handed = norm(0, processors_) + norm(processors_, 2 * processors_);
  const std::size_t first_link = 3 * processors_;
  const double latency = latencies_in_use_.empty() ? 0 : latencies_in_use_.rbegin()->first;
  const int handovers = (handing_[0] > 0 ? 1 : 0) + (handing_[1] > 0 ? 1 : 0);
  return handed + overlapped(norm(2 * processors_, first_link), norm(first_link, load_.size())) +
         latency + handovers * profile_.handover;
}

void RegionLoads::set_state(std::vector<Route> state) {
  state_ = std::move(state);
  handing_ = {};
  latencies_in_use_.clear();
  std::fill(load_.begin(), load_.end(), 0.0);
  for (std::size_t pair = 0; pair < pairs_.size(); ++pair) add(pair, state_[pair], 1);
}

void RegionLoads::add(std::size_t pair, Route route, int sign) {
  for (const Addition& it : additions_[pair][static_cast<std::size_t>(route)]) {
    load_[it.resource] += sign * it.seconds;
  }
  if (route == Route::led) handing_[pairs_[pair].outgoing ? 0 : 1] += sign;
  if (!pairs_[pair].outgoing) return;  // the other side counts the latency
  const auto in_use =
      latencies_in_use_.try_emplace(latencies_[pair][static_cast<std::size_t>(route)]).first;
  in_use->second += sign;
  if (in_use->second == 0) latencies_in_use_.erase(in_use);
}

void RegionLoads::change(std::size_t pair, Route route) {
  add(pair, state_[pair], -1);
  state_[pair] = route;
  add(pair, route, 1);
}

double RegionLoads::weighed_seconds(std::size_t pair) const {
  return seconds() * (state_[pair] == Route::straight ? 1.0 : rules_.bias);
}

/// Returns by how much serving the pair another way reduces the region's weighted time. Leaves the
/// state unchanged.
double RegionLoads::gain(std::size_t pair, Route route) {
  const Route present = state_[pair];
  const double before = weighed_seconds(pair);
  change(pair, route);
  const double after = weighed_seconds(pair);
  change(pair, present);
  return before - after;
}

RegionLoads::Route RegionLoads::best_relayed(std::size_t pair) {
  if (state_[pair] != Route::straight) return state_[pair];
  if (!possible(pair, Route::by_contributor)) return Route::led;
  if (!possible(pair, Route::led)) return Route::by_contributor;
  return gain(pair, Route::by_contributor) > gain(pair, Route::led) ? Route::by_contributor
                                                                    : Route::led;
}

/// Leaves the other pairs as they are served.
void RegionLoads::find_times() {
  const auto nanoseconds = [](double seconds) { return std::llround(seconds * 1e9); };
  times_.resize(pairs_.size());
  for (std::size_t pair = 0; pair < pairs_.size(); ++pair) {
    const Route present = state_[pair], route = best_relayed(pair);
    change(pair, route);
    times_[pair].relayed = nanoseconds(weighed_seconds(pair));
    change(pair, Route::straight);
    times_[pair].straight = nanoseconds(seconds());
    change(pair, present);
    if (route == Route::by_contributor && !by_contributor_[pair]) lead_themselves(pair);
  }
}

}  // namespace vicinal
