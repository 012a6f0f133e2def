// Work for each pair, and longest-processing-time-first scheduling of the leaders. Every member
// gets the same result: it computes in one order, and breaks ties by position.
#include "cost/region_loads.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <tuple>

namespace vicinal {

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

RegionLoads::RegionLoads(std::size_t members, double ranks_per_core, const Profile& profile,
                         const RelayRules& rules)
    : profile_(profile), rules_(rules), members_(std::max<std::size_t>(1, members)) {
  const bool shared = ranks_per_core > 1;
  const double cores = static_cast<double>(members_) / (shared ? ranks_per_core : 1.0);
  processors_ = std::max<std::size_t>(1, static_cast<std::size_t>(std::ceil(cores)));
  speed_ = std::min(1.0, cores / static_cast<double>(processors_));
  attend_ = shared ? profile.handover : 0;
  load_.assign(3 * processors_ + 2 * members_ + 2, 0.0);
}

// Resources: the processors handing in, handing out, and with messages. Then the links out of and
// into each member, and the port out of and into the node.

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

double RegionLoads::latency(const RegionPair& pair, Index elements, Index messages) const {
  return profile_.at(pair.level)
      .protocol(elements * rules_.element_bytes / std::max<Index>(1, messages))
      .latency;
}

/// Time of the own end's processor for a message of that many bytes.
double RegionLoads::handling(const RegionPair& pair, double bytes) const {
  const LevelCost& cost = profile_.at(pair.level);
  const auto whole = static_cast<std::int64_t>(bytes);
  return pair.outgoing ? cost.sending(whole) : cost.receiving(whole);
}

/// Larger messages are longer in transit, and use other protocols.
void RegionLoads::find_latencies(std::size_t number) {
  const RegionPair& pair = pairs_[number];
  double straight = 0, own = 0;
  for (const PairShare& share : pair.shares) {
    straight = std::max(straight, latency(pair, share.elements, share.edges));
    own = std::max(own, latency(pair, share.distinct, 1));
  }
  latencies_[number] = {straight, latency(pair, pair.distinct(), parts_[number]), own};
}

/// Adds `messages` messages of `bytes` bytes in total.
void RegionLoads::add_bytes(Additions& to, const RegionPair& pair, int member, double bytes,
                            Index messages) const {
  const LevelCost& cost = profile_.at(pair.level);
  const double each = messages > 0 ? bytes / static_cast<double>(messages) : 0;
  add_work(to, Stage::messages, member, handling(pair, each) * static_cast<double>(messages));
  if (bytes <= 0) return;
  const Protocol& protocol = cost.protocol(static_cast<std::int64_t>(each));
  to.push_back({link(member, pair.outgoing), bytes * protocol.seconds_per_byte});
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

/// Each part holds a range of the contributors' items laid end to end. For an incoming pair, it
/// holds about as much for each consumer as the other parts do.
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
      add_work(result, stage, pair.outgoing ? leader : share.member, attend_);
    }
    begin = end;
  }
  return result;
}

/// No member hands anything in, but the other region gets more messages than it accounts for. Each
/// of them is handed out to all ranks that want some of it. This region assumes that the other one
/// accounts as it does itself: so they count here, for as many ranks as want them there.
RegionLoads::Additions RegionLoads::by_contributor(const RegionPair& pair) const {
  Additions result;
  Index messages = 0;
  for (const PairShare& share : pair.shares) {
    if (share.edges == 0) continue;
    ++messages;
    add_bytes(result, pair, share.member,
              static_cast<double>(share.distinct * rules_.element_bytes), 1);
  }
  const int receivers = std::clamp(pair.receivers, 1, static_cast<int>(members_));
  const double each = static_cast<double>(messages - 1) / receivers;
  const double handed = each * (receivers - 1) * attend_;
  for (int member = 0; member < receivers; ++member) {
    add_work(result, Stage::messages, member, each * profile_.at(pair.level).receive_overhead);
    add_work(result, Stage::scatter, member, handed);
  }
  return result;
}

/// Seconds for which a leader is busy with that many bytes in one message: its link, or its
/// processor.
double RegionLoads::busy_with(const RegionPair& pair, double bytes) const {
  const Protocol& its = profile_.at(pair.level).protocol(static_cast<std::int64_t>(bytes));
  return bytes * std::max(its.seconds_per_byte, its.processor_seconds_per_byte / speed_);
}

/// Seconds for which bytes keep each member busy if all members carry the same amount. At least the
/// time of the port and of the processors that they share.
double RegionLoads::even_share(bool outgoing) const {
  double members = 0, port = 0, processors = 0;
  for (const RegionPair& pair : pairs_) {
    if (pair.outgoing != outgoing) continue;
    const LevelCost& cost = profile_.at(pair.level);
    const Index whole = pair.distinct() * rules_.element_bytes;
    const auto bytes = static_cast<double>(whole);
    members += busy_with(pair, bytes);
    processors += bytes * cost.protocol(whole).processor_seconds_per_byte / speed_;
    if (pair.level == Level::network) port += bytes * profile_.port_seconds_per_byte;
  }
  return std::max({members / static_cast<double>(members_), port,
                   processors / static_cast<double>(processors_)});
}

/// Divides a pair if its bytes keep one leader busy for longer than an even share of all. A part
/// never costs less than each further part adds.
int RegionLoads::part_count(const RegionPair& pair, double share) const {
  const auto available = static_cast<double>(members_);
  const Index count = pair.distinct();
  switch (rules_.division) {
    case RelayRules::Division::whole: return 1;
    case RelayRules::Division::contributor: return static_cast<int>(members_);
    case RelayRules::Division::bytes:
    case RelayRules::Division::best: break;
  }
  const auto bytes = static_cast<double>(count * rules_.element_bytes);
  if (rules_.part_bytes > 0) {
    const double parts = std::ceil(bytes / static_cast<double>(rules_.part_bytes));
    return static_cast<int>(std::clamp(parts, 1.0, available));
  }
  const LevelCost& cost = profile_.at(pair.level);
  const double least = cost.overhead() + 2 * profile_.handover;
  return static_cast<int>(std::clamp(
      std::ceil(busy_with(pair, bytes) / std::max({least, share, 1e-12})), 1.0, available));
}

void RegionLoads::plan(std::vector<RegionPair> pairs, std::vector<char> idle) {
  pairs_ = std::move(pairs);
  idle_ = std::move(idle);
  idle_.resize(members_, 0);
  leaders_.assign(pairs_.size(), {});
  parts_.assign(pairs_.size(), 1);
  by_contributor_.assign(pairs_.size(), false);
  additions_.assign(pairs_.size(), {});
  latencies_.assign(pairs_.size(), {});
  for (std::size_t pair = 0; pair < pairs_.size(); ++pair) {
    additions_[pair][static_cast<std::size_t>(Route::straight)] = straight(pairs_[pair]);
    if (!pairs_[pair].outgoing) continue;
    additions_[pair][static_cast<std::size_t>(Route::by_contributor)] =
        by_contributor(pairs_[pair]);
  }
  one_message_ = 1e-12;
  for (const RegionPair& pair : pairs_) {
    const Index edges = std::max<Index>(1, pair.edges());
    const auto each = static_cast<double>(pair.elements() * rules_.element_bytes / edges);
    one_message_ = std::max(one_message_, handling(pair, each) / speed_);
  }
  choose_leaders();
  for (std::size_t pair = 0; pair < pairs_.size(); ++pair) find_latencies(pair);
  find_state();
  find_times();
  add_receivers();
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
  led_seconds_.assign(members_, 0.0);
  handing_ = {};
  for (const std::size_t pair : order) {
    if (pairs_[pair].outgoing && rules_.division == RelayRules::Division::contributor) {
      lead_themselves(pair);
      add(pair, Route::by_contributor, 1);
      continue;
    }
    parts_[pair] = part_count(pairs_[pair], share[pairs_[pair].outgoing ? 1 : 0]);
    lead(pair);
    additions_[pair][static_cast<std::size_t>(Route::led)] =
        led(pairs_[pair], leaders_[pair], parts_[pair]);
    add(pair, Route::led, 1);
  }
}

void RegionLoads::lead_themselves(std::size_t pair) {
  leaders_[pair].clear();
  for (const PairShare& share : pairs_[pair].shares) leaders_[pair].push_back(share.member);
  parts_[pair] = static_cast<int>(leaders_[pair].size());
  by_contributor_[pair] = true;
}

/// Adds leaders to incoming pairs, in case the other side makes more parts. There are as many as
/// the bytes can justify. If the other side's contributors may lead, there is one for each member:
/// that side expects the receivers to share its messages.
void RegionLoads::add_receivers() {
  const bool may_be_contributors = rules_.division == RelayRules::Division::best;
  for (std::size_t number = 0; number < pairs_.size(); ++number) {
    const RegionPair& pair = pairs_[number];
    if (pair.outgoing) continue;
    const int most = may_be_contributors ? static_cast<int>(members_) : part_count(pair, 0);
    std::vector<int>& leaders = leaders_[number];
    const int first = leaders.front();
    for (int next = 0; next < static_cast<int>(members_); ++next) {
      if (static_cast<int>(leaders.size()) >= most) break;
      const int member = (first + next) % static_cast<int>(members_);
      if (std::find(leaders.begin(), leaders.end(), member) == leaders.end()) {
        leaders.push_back(member);
      }
    }
  }
}

/// Gives each part to the member with the least message work for others, of several the one with
/// most of the data. With more of the data a leader saves less time than its second pair costs the
/// waiting ranks (27 points, 4 x 8: 1.3 times as long). If leading saves no message, the member
/// with the edge keeps it, unless another has no work at all. If members with edges of their own
/// relieve each other, plans are slower more often than faster.
void RegionLoads::lead(std::size_t number) {
  const RegionPair& pair = pairs_[number];
  std::vector<int>& leaders = leaders_[number];
  const LevelCost& cost = profile_.at(pair.level);
  const int parts = parts_[number];
  const auto all = static_cast<double>(pair.distinct());
  const double bytes = all * static_cast<double>(rules_.element_bytes) / parts;
  const double busy = handling(pair, bytes) / speed_ +
                      bytes * cost.protocol(static_cast<std::int64_t>(bytes)).seconds_per_byte;
  const bool saves_nothing = is_one_for_one(pair.edges(), parts) && all > 0;
  std::vector<double> own(members_);
  std::vector<char> chosen(members_, 0);
  for (int part = 0; part < parts; ++part) {
    // Share of the part that each member has, or takes.
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
    const auto burden = [&](int member) {
      const auto m = static_cast<std::size_t>(member);
      return std::pair(led_seconds_[m], 1 - own[m]);
    };
    int best = -1;
    for (int member = 0; member < static_cast<int>(members_); ++member) {
      const auto m = static_cast<std::size_t>(member);
      if (chosen[m] != 0 || (saves_nothing && idle_[m] == 0 && own[m] <= 0)) continue;
      if (best < 0 || burden(member) < burden(best)) best = member;
    }
    chosen[static_cast<std::size_t>(best)] = 1;
    led_seconds_[static_cast<std::size_t>(best)] += busy;
    leaders.push_back(best);
  }
}

}  // namespace vicinal
