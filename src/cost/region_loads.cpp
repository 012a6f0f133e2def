// Longest-processing-time-first scheduling for the leaders, then a greedy search for the pairs that should go
// straight. Both are the same on every member, because all of it is computed in one order and ties are broken by place.
#include "cost/region_loads.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <queue>
#include <tuple>

namespace vicinal {

namespace {

/// Of a handover, what the processor has to do with it that signals.
constexpr double signalling = 0.05;
/// And that which awaits it, where it has a core to itself; otherwise it has to be switched to.
constexpr double attending = 0.1;

double eighth_power(double x) {
  const double square = x * x, fourth = square * square;
  return fourth * fourth;
}

double eighth_root(double x) { return std::sqrt(std::sqrt(std::sqrt(std::max(0.0, x)))); }

}  // namespace

Index RegionPair::edges() const {
  return std::accumulate(shares.begin(), shares.end(), Index{0},
                         [](Index sum, const PairShare& it) { return sum + it.edges; });
}

Index RegionPair::elements() const {
  return std::accumulate(shares.begin(), shares.end(), Index{0},
                         [](Index sum, const PairShare& it) { return sum + it.elements; });
}

Index RegionPair::distinct() const {
  return std::accumulate(shares.begin(), shares.end(), Index{0},
                         [](Index sum, const PairShare& it) { return sum + it.distinct; });
}

bool relaying_pays(const Saving& sender, const Saving& receiver) {
  const auto most =
      static_cast<double>(std::max({sender.busiest, receiver.busiest, std::int64_t{1}}));
  const auto weighed = [most](const Saving& it) {
    return static_cast<double>(it.nanoseconds) *
           eighth_power(static_cast<double>(it.busiest) / most);
  };
  return weighed(sender) + weighed(receiver) > 0;
}

RegionLoads::RegionLoads(std::size_t members, double ranks_per_core, const Profile& profile,
                         const RelayRules& rules)
    : profile_(profile), rules_(rules), members_(std::max<std::size_t>(1, members)) {
  const bool shared = ranks_per_core > 1;
  const double cores = static_cast<double>(members_) / (shared ? ranks_per_core : 1.0);
  processors_ = std::max<std::size_t>(1, static_cast<std::size_t>(std::ceil(cores)));
  speed_ = std::min(1.0, cores / static_cast<double>(processors_));
  attend_ = (shared ? 1.0 : attending) * profile.handover;
  load_.assign(3 * processors_ + 2 * members_ + 2, 0.0);
}

// Resources: the processors handing in; those handing out; those with messages, the links out of and into each member,
// the port out of and into the node.

std::size_t RegionLoads::processor(Stage stage, int member) const {
  const std::size_t first = stage == Stage::gather    ? 0
                            : stage == Stage::scatter ? processors_
                                                      : 2 * processors_;
  return first + static_cast<std::size_t>(member) % processors_;
}

std::size_t RegionLoads::link(int member, bool outgoing) const {
  return 3 * processors_ + (outgoing ? 0 : members_) + static_cast<std::size_t>(member);
}

std::size_t RegionLoads::port(bool outgoing) const {
  return 3 * processors_ + 2 * members_ + (outgoing ? 0 : 1);
}

void RegionLoads::add_work(Additions& to, Stage stage, int member, double seconds) const {
  if (seconds > 0) to.push_back({processor(stage, member), seconds / speed_});
}

/// So many messages of so many bytes in all.
void RegionLoads::add_bytes(Additions& to, const RegionPair& pair, int member, double bytes,
                            Index messages) const {
  const LevelCost& cost = profile_.at(pair.level);
  const double overhead = pair.outgoing ? cost.send_overhead : cost.receive_overhead;
  add_work(to, Stage::messages, member, overhead * static_cast<double>(messages));
  if (bytes <= 0) return;
  const auto each = static_cast<std::int64_t>(bytes / static_cast<double>(messages));
  to.push_back({link(member, pair.outgoing), bytes * cost.protocol(each).seconds_per_byte});
  if (pair.level != Level::network) return;
  to.push_back({port(pair.outgoing), bytes * profile_.port_seconds_per_byte});
}

RegionLoads::Additions RegionLoads::straight(const RegionPair& pair) const {
  Additions result;
  for (const PairShare& share : pair.shares) {
    if (share.edges == 0) continue;
    add_bytes(result, pair, share.member,
              static_cast<double>(share.elements * rules_.element_bytes), share.edges);
  }
  return result;
}

/// Each part holds what follows in the contributors' items laid end to end, or, for what comes, about as much for
/// each consumer as the others do.
RegionLoads::Additions RegionLoads::led(const RegionPair& pair, const std::vector<int>& leaders,
                                        int parts) const {
  Additions result;
  const auto element_bytes = static_cast<double>(rules_.element_bytes);
  const auto all = static_cast<double>(pair.distinct());
  const Stage stage = pair.outgoing ? Stage::gather : Stage::scatter;
  for (const PairShare& share : pair.shares) {
    if (share.edges == 0) continue;
    const double handled = static_cast<double>(pair.outgoing ? share.distinct : share.elements);
    add_work(result, stage, share.member, handled * element_bytes * profile_.copy_seconds_per_byte);
  }
  double begin = 0;  // of the part, among the items of all
  for (int part = 0; part < parts; ++part) {
    const int leader = leaders[static_cast<std::size_t>(part) % leaders.size()];
    const double end = all * (part + 1) / parts;
    add_bytes(result, pair, leader, (end - begin) * element_bytes, 1);
    double before = 0;
    for (const PairShare& share : pair.shares) {
      const double first = before, last = before + static_cast<double>(share.distinct);
      before = last;
      const bool has_part = share.edges > 0 && (!pair.outgoing || (first < end && last > begin));
      if (!has_part || share.member == leader) continue;
      add_work(result, stage, share.member,
               pair.outgoing ? signalling * profile_.handover : attend_);
      add_work(result, stage, leader, pair.outgoing ? attend_ : signalling * profile_.handover);
    }
    begin = end;
  }
  return result;
}

RegionLoads::Additions RegionLoads::by_contributor(const RegionPair& pair) const {
  Additions result;
  for (const PairShare& share : pair.shares) {
    if (share.edges == 0) continue;
    add_bytes(result, pair, share.member,
              static_cast<double>(share.distinct * rules_.element_bytes), 1);
  }
  return result;
}

/// Seconds for which each member's link would be busy if all of them carried as much, or the port is anyway.
double RegionLoads::even_share(bool outgoing) const {
  double links = 0, port = 0;
  for (const RegionPair& pair : pairs_) {
    if (pair.outgoing != outgoing) continue;
    const LevelCost& cost = profile_.at(pair.level);
    const auto bytes = static_cast<double>(pair.distinct() * rules_.element_bytes);
    links += bytes * cost.seconds_per_byte();
    if (pair.level == Level::network) port += bytes * profile_.port_seconds_per_byte;
  }
  return std::max(links / static_cast<double>(members_), port);
}

/// A pair is divided where its bytes would keep one leader's link busy for longer than an even share of all does, but
/// never so finely that a part costs less than what every further part adds.
int RegionLoads::part_count(const RegionPair& pair, double share) const {
  const auto available = static_cast<double>(members_);
  const Index count = pair.distinct();
  switch (rules_.division) {
    case RelayRules::Division::whole: return 1;
    case RelayRules::Division::contributor: return static_cast<int>(members_);
    case RelayRules::Division::bytes: break;
  }
  const auto bytes = static_cast<double>(count * rules_.element_bytes);
  if (rules_.part_bytes > 0) {
    const double parts = std::ceil(bytes / static_cast<double>(rules_.part_bytes));
    return static_cast<int>(std::clamp(parts, 1.0, available));
  }
  const LevelCost& cost = profile_.at(pair.level);
  const double least = cost.overhead() + 2 * profile_.handover;
  const double busy = bytes * cost.seconds_per_byte();
  return static_cast<int>(
      std::clamp(std::ceil(busy / std::max({least, share, 1e-12})), 1.0, available));
}

bool RegionLoads::goes_by_contributor(const RegionPair& pair) const {
  return pair.outgoing && rules_.division == RelayRules::Division::contributor;
}

void RegionLoads::plan(std::vector<RegionPair> pairs) {
  pairs_ = std::move(pairs);
  leaders_.assign(pairs_.size(), {});
  parts_.assign(pairs_.size(), 1);
  relay_.assign(pairs_.size(), {});
  straight_.clear();
  for (const RegionPair& pair : pairs_) straight_.push_back(straight(pair));
  choose_leaders();
  find_state();
  find_savings();
}

void RegionLoads::choose_leaders() {
  const double share[] = {even_share(false), even_share(true)};
  std::vector<std::size_t> order(pairs_.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  const auto weight = [&](std::size_t i) {
    return std::tuple(-pairs_[i].distinct(), pairs_[i].region, !pairs_[i].outgoing);
  };
  std::sort(order.begin(), order.end(),
            [&](std::size_t a, std::size_t b) { return weight(a) < weight(b); });
  std::fill(load_.begin(), load_.end(), 0.0);
  for (const std::size_t number : order) {
    const RegionPair& pair = pairs_[number];
    if (goes_by_contributor(pair)) {
      for (const PairShare& it : pair.shares) leaders_[number].push_back(it.member);
      parts_[number] = static_cast<int>(leaders_[number].size());
      relay_[number] = by_contributor(pair);
    } else {
      parts_[number] = part_count(pair, share[pair.outgoing ? 1 : 0]);
      lead(number);
      relay_[number] = led(pair, leaders_[number], parts_[number]);
    }
    add(number, true, 1);
  }
}

/// Each part to whoever will have least to do with it; a handover counts for what others contribute, so that among
/// equals those lead who have most of it. For what comes, more leaders follow, in case the other side makes more parts.
void RegionLoads::lead(std::size_t number) {
  const RegionPair& pair = pairs_[number];
  std::vector<int>& leaders = leaders_[number];
  const LevelCost& cost = profile_.at(pair.level);
  const int parts = parts_[number];
  const auto all = static_cast<double>(pair.distinct());
  const double bytes = all * static_cast<double>(rules_.element_bytes) / parts;
  const double overhead = (pair.outgoing ? cost.send_overhead : cost.receive_overhead) / speed_;
  const double busy = bytes * cost.protocol(static_cast<std::int64_t>(bytes)).seconds_per_byte;
  std::vector<double> own(members_);
  std::vector<char> chosen(members_, 0);
  for (int part = 0; part < parts; ++part) {
    // How much of the part each member has, or takes.
    const double begin = all * part / parts, end = all * (part + 1) / parts;
    double before = 0;
    std::fill(own.begin(), own.end(), 0.0);
    for (const PairShare& share : pair.shares) {
      const double last = before + static_cast<double>(share.distinct);
      const double overlap = pair.outgoing ? std::min(end, last) - std::max(begin, before)
                                           : static_cast<double>(share.distinct) / parts;
      if (all > 0) {
        own[static_cast<std::size_t>(share.member)] = std::max(0.0, overlap * parts / all);
      }
      before = last;
    }
    const auto seconds = [&](int member) {
      const double work = load_[processor(Stage::messages, member)] + overhead;
      const double sent = load_[link(member, pair.outgoing)] + busy;
      const double others = 1 - own[static_cast<std::size_t>(member)];
      return std::max(work, sent) + profile_.handover * others;
    };
    int best = -1;
    for (int member = 0; member < static_cast<int>(members_); ++member) {
      if (chosen[static_cast<std::size_t>(member)] != 0) continue;
      if (best < 0 || seconds(member) < seconds(best)) best = member;
    }
    chosen[static_cast<std::size_t>(best)] = 1;
    leaders.push_back(best);
  }
  if (pair.outgoing) return;
  // An upper bound of what the other region's own share makes of it.
  const int most = part_count(pair, 0);
  for (int next = 0; next < static_cast<int>(members_); ++next) {
    const int member = (leaders.front() + next) % static_cast<int>(members_);
    if (static_cast<int>(leaders.size()) >= most) break;
    if (std::find(leaders.begin(), leaders.end(), member) == leaders.end())
      leaders.push_back(member);
  }
}

/// From all relayed that may be, flips whatever takes most off the region's time, as long as anything does. Gains are
/// looked at again only when they come up, which is right because one flip seldom makes another worth more.
void RegionLoads::find_state() {
  std::vector<bool> relayed;
  for (std::size_t pair = 0; pair < pairs_.size(); ++pair) {
    relayed.push_back(pairs_[pair].edges() > parts_[pair]);
  }
  set_state(std::move(relayed));
  std::priority_queue<std::tuple<double, std::size_t>> queue;
  for (std::size_t pair = 0; pair < pairs_.size(); ++pair) {
    if (relayed_[pair]) queue.emplace(gain(pair), pair);
  }
  std::vector<int> looked_at(pairs_.size(), 0);  // after how many flips
  for (int flips = 0; !queue.empty();) {
    const auto [known, pair] = queue.top();
    queue.pop();
    const double now = looked_at[pair] == flips ? known : gain(pair);
    if (now <= 0) continue;
    if (looked_at[pair] == flips || queue.empty() || now >= std::get<0>(queue.top())) {
      flip(pair);
      ++flips;
    } else {
      looked_at[pair] = flips;
      queue.emplace(now, pair);
    }
  }
  // The handovers' own time goes only with the last pair that is relayed.
  const double found = seconds() * rules_.bias;
  const std::vector<bool> best = relayed_;
  set_state(std::vector<bool>(pairs_.size(), false));
  if (seconds() > found) set_state(best);
}

double RegionLoads::seconds() const {
  const auto norm = [&](std::size_t first, std::size_t last) {
    double sum = 0;
    for (std::size_t i = first; i < last; ++i) sum += eighth_power(load_[i]);
    return eighth_root(sum);
  };
  const double handed = norm(0, processors_) + norm(processors_, 2 * processors_);
  const int handovers = (handing_[0] > 0 ? 1 : 0) + (handing_[1] > 0 ? 1 : 0);
  const std::size_t first_link = 3 * processors_;
  return handed + norm(2 * processors_, first_link) + norm(first_link, load_.size()) +
         handovers * profile_.handover;
}

void RegionLoads::set_state(std::vector<bool> relayed) {
  relayed_ = std::move(relayed);
  handing_ = {};
  std::fill(load_.begin(), load_.end(), 0.0);
  for (std::size_t pair = 0; pair < pairs_.size(); ++pair) add(pair, relayed_[pair], 1);
}

void RegionLoads::add(std::size_t pair, bool relayed, double sign) {
  for (const Addition& it : relayed ? relay_[pair] : straight_[pair]) {
    load_[it.resource] += sign * it.seconds;
  }
  if (!relayed || goes_by_contributor(pairs_[pair])) return;
  handing_[pairs_[pair].outgoing ? 0 : 1] += sign > 0 ? 1 : -1;
}

void RegionLoads::flip(std::size_t pair) {
  add(pair, relayed_[pair], -1);
  relayed_[pair] = !relayed_[pair];
  add(pair, relayed_[pair], 1);
}

/// What flipping the pair takes off the region's time, as it is weighed. The state is the same afterwards.
double RegionLoads::gain(std::size_t pair) {
  const double before = seconds() * (relayed_[pair] ? rules_.bias : 1.0);
  flip(pair);
  const double after = seconds() * (relayed_[pair] ? rules_.bias : 1.0);
  flip(pair);
  return before - after;
}

void RegionLoads::find_savings() {
  constexpr double nanosecond = 1e-9;
  savings_.resize(pairs_.size());
  for (std::size_t pair = 0; pair < pairs_.size(); ++pair) {
    const double gained = gain(pair);
    const double saved = relayed_[pair] ? -gained : gained;
    savings_[pair] = {std::llround(saved / nanosecond), std::llround(seconds() / nanosecond)};
  }
}

}  // namespace vicinal
