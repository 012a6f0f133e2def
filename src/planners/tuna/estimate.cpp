// Adds up the ranks' work in a superstep, by processor, link and port. Follows the ranks of one
// host of each size.
#include "planners/tuna/estimate.hpp"

#include <algorithm>
#include <limits>
#include <map>
#include <vector>

#include "cost/cores.hpp"

namespace vicinal::tuna {

namespace {

/// The radices that are tried, besides the number of places, with which nothing is forwarded.
constexpr int radices[] = {2, 3, 4, 5, 6, 8, 10, 12, 16, 20, 24, 32, 48, 64, 96, 128};
/// The largest number of messages that are followed for one radix.
constexpr std::int64_t most_followed = std::int64_t{1} << 22;

/// Returns the ranks of the first host of each size.
std::vector<int> ranks_to_follow(const Machine& machine) {
  std::map<int, int> first;  // by number of ranks
  for (int rank = 0; rank < machine.size(); ++rank) {
    const int host = machine.host_of(rank);
    first.try_emplace(machine.ranks_on(host), host);
  }
  std::vector<int> ranks;
  for (int rank = 0; rank < machine.size(); ++rank) {
    const int host = machine.host_of(rank);
    if (first.at(machine.ranks_on(host)) == host) ranks.push_back(rank);
  }
  return ranks;
}

/// Times consecutive supersteps. In each, a rank receives as much as it sends.
class Clock {
 public:
  explicit Clock(const Exchange& exchange)
      : exchange_(exchange),
        profile_(exchange.profile),
        followed_(ranks_to_follow(exchange.machine)),
        work_(static_cast<std::size_t>(exchange.machine.size())),
        packing_(work_.size()),
        link_(work_.size()),
        port_(static_cast<std::size_t>(exchange.machine.hosts())),
        host_(port_.size()) {}

  /// Adds messages of `bytes` bytes from a rank to ranks as near as `peer`, and as many from them.
  /// A `packed` message is gathered from several places.
  void exchange(int rank, int peer, double messages, double bytes, bool packed) {
    if (messages <= 0 || bytes <= 0) return;
    if (exchange_.shares(rank, peer)) {
      hand_over(rank, messages, messages * bytes);
      return;
    }
    const Level level = exchange_.machine.level(rank, peer);
    const LevelCost& cost = profile_.at(level);
    const auto whole = static_cast<std::int64_t>(bytes);
    const Protocol& protocol = cost.protocol(whole);
    const double packing = packed ? bytes * profile_.copy_seconds_per_byte : 0;
    const double work = cost.handling(whole) + 2 * packing;
    const double part = exchange_.part_of_most(ranks_beside(rank));
    const double sent = bytes * protocol.seconds_per_byte + profile_.gap.value_or(0);
    work_[at(rank)] += messages * work;
    const double of_bytes = cost.handling(whole) - cost.overhead() + 2 * packing;
    host_[host_of(rank)] += messages * (cost.overhead() + part * of_bytes);
    packing_[at(rank)] += messages * packing;
    link_[at(rank)] += messages * sent;
    latency_ = std::max(latency_, protocol.latency);
    ends_ = std::max(ends_, work);
    alone_ = std::max(alone_, sent);
    if (level != Level::network) return;
    port_[host_of(rank)] += messages * part * bytes * profile_.port_seconds_per_byte;
  }

  /// Ends a superstep. A processor packs and sends all messages, then takes those that it receives.
  /// The last of them is on its way when it has sent all. A link or port begins when all is packed,
  /// and the last message must be taken when it ends.
  void end_superstep() {
    const double work = busiest_processor();
    seconds_ += std::max({work, (work + ends_) / 2 + latency_ + alone_,
                          most(packing_) + std::max(most(link_), most(port_)) + ends_ + latency_});
    for (std::vector<double>* const loads : {&work_, &packing_, &link_, &port_, &host_}) {
      std::fill(loads->begin(), loads->end(), 0.0);
    }
    latency_ = ends_ = alone_ = 0;
  }

  [[nodiscard]] const std::vector<int>& followed() const { return followed_; }
  [[nodiscard]] double seconds() const { return seconds_; }

 private:
  /// Adds copies into slots and out of others. Awaiting a signal costs processor time only if ranks
  /// share cores.
  void hand_over(int rank, double signals, double bytes) {
    const bool scarce = cores(exchange_.machine.host_of(rank)) > 0;
    const double awaiting = scarce ? signals * profile_.handover : 0;
    const double copying = 2 * bytes * profile_.copy_seconds_per_byte;
    work_[at(rank)] += copying + awaiting;
    host_[host_of(rank)] += exchange_.part_of_most(ranks_beside(rank)) * copying + awaiting;
    if (!scarce) latency_ = std::max(latency_, profile_.handover);
  }

  static std::size_t at(int place) { return static_cast<std::size_t>(place); }
  static double most(const std::vector<double>& loads) {
    return *std::max_element(loads.begin(), loads.end());
  }
  [[nodiscard]] std::size_t host_of(int rank) const { return at(exchange_.machine.host_of(rank)); }
  [[nodiscard]] int ranks_beside(int rank) const {
    return exchange_.machine.ranks_on(exchange_.machine.host_of(rank));
  }
  /// Returns the cores that the ranks of a host share; 0 if each has its own.
  [[nodiscard]] double cores(int host) const {
    return shared_cores(exchange_.machine, host, profile_);
  }

  /// Returns the load of the busiest rank or, where ranks share a host's cores, of those cores.
  [[nodiscard]] double busiest_processor() const {
    double busiest = most(work_);
    for (int host = 0; host < exchange_.machine.hosts(); ++host) {
      if (cores(host) > 0) busiest = std::max(busiest, host_[at(host)] / cores(host));
    }
    return busiest;
  }

  const Exchange& exchange_;
  const Profile& profile_;
  const std::vector<int> followed_;
  std::vector<double> work_, packing_, link_;  ///< by rank
  std::vector<double> port_, host_;            ///< by host; host_: its processors
  // The largest of one message or handover:
  double latency_ = 0;
  double ends_ = 0;   ///< processor time for it
  double alone_ = 0;  ///< link time
  double seconds_ = 0;
};

/// Calls visit(peer, ranks) for all other ranks: one by one in the own region. For each other
/// region, it calls once, with one of its ranks and their number.
template <class Visit>
void for_each_peer(const Machine& machine, int rank, Visit visit) {
  for (int region = 0; region < machine.regions(); ++region) {
    const auto members = machine.members(region);
    if (region != machine.region_of(rank)) {
      visit(members.front(), static_cast<double>(members.size()));
      continue;
    }
    for (const int peer : members) {
      if (peer != rank) visit(peer, 1.0);
    }
  }
}

/// Returns the time of direct messages. Empty blocks are not sent.
double seconds_direct(const Exchange& it) {
  Clock clock(it);
  for (const int rank : clock.followed()) {
    for_each_peer(it.machine, rank, [&](int peer, double ranks) {
      clock.exchange(rank, peer, ranks * it.density, it.block_bytes / it.density, false);
    });
  }
  clock.end_superstep();
  return clock.seconds();
}

/// Adds the handover inside regions of data to or from `leaders` leaders, in `parts` parts for each
/// member. Two leaders hand data to each other; other pairs do so in only one direction.
void share_out(Clock& clock, const Exchange& it, double parts, double leaders) {
  for (const int rank : clock.followed()) {
    const auto members = it.machine.members(it.machine.region_of(rank));
    const auto count = static_cast<double>(members.size());
    const double each = (static_cast<double>(it.machine.size()) - count) * it.block_bytes /
                        std::min(count, leaders) / parts;
    const auto leads = [&](int member) {
      const auto place = std::find(members.begin(), members.end(), member) - members.begin();
      return static_cast<double>(place) < leaders;
    };
    for (const int peer : members) {
      const double ways = (leads(rank) ? 0.5 : 0) + (leads(peer) ? 0.5 : 0);
      if (peer != rank) clock.exchange(rank, peer, ways * parts, each, true);
    }
  }
}

/// Returns the time with one message from each rank to each other region, whose receiver
/// distributes it.
double seconds_by_contributor(const Exchange& it) {
  Clock clock(it);
  for (const int rank : clock.followed()) {
    for_each_peer(it.machine, rank, [&](int peer, double ranks) {
      const bool near = it.machine.same_region(rank, peer);
      clock.exchange(rank, peer, 1, ranks * it.block_bytes, !near);
    });
  }
  clock.end_superstep();
  share_out(clock, it, std::max(1, it.machine.regions() - 1), it.machine.size());
  clock.end_superstep();
  return clock.seconds();
}

/// Returns the time with one message for each pair of regions. If `divided`, there are several
/// where a region has more members than there are other regions. Data between members is ready as
/// early as their contributions.
double seconds_by_leaders(const Exchange& it, bool divided) {
  Clock clock(it);
  const auto others = static_cast<double>(it.machine.regions() - 1);
  const double leaders = divided ? it.machine.size() : others;
  share_out(clock, it, 1, leaders);
  for (const int rank : clock.followed()) {
    for (const int peer : it.machine.members(it.machine.region_of(rank))) {
      if (peer != rank) clock.exchange(rank, peer, 1, it.block_bytes, false);
    }
  }
  clock.end_superstep();
  for (const int rank : clock.followed()) {
    const auto members = static_cast<double>(it.machine.members(it.machine.region_of(rank)).size());
    const double parts = divided ? std::max(1.0, members / others) : 1.0;
    for_each_peer(it.machine, rank, [&](int peer, double ranks) {
      if (it.machine.same_region(rank, peer)) return;
      clock.exchange(rank, peer, parts / members, members * ranks * it.block_bytes / parts, false);
    });
  }
  clock.end_superstep();
  share_out(clock, it, 1, leaders);
  clock.end_superstep();
  return clock.seconds();
}

/// Returns the time of supersteps `first` to `last` - 1 of a route.
double seconds_of(const Exchange& it, const Route& route, int first, int last) {
  Clock clock(it);
  for (int superstep = first; superstep < last; ++superstep) {
    const double moved = route.share_moved(superstep) * it.machine.size();
    for (const int rank : clock.followed()) {
      const std::vector<int> takers = route.takers(superstep, rank);
      const double blocks = moved / static_cast<double>(takers.size());
      for (const int taker : takers) {
        clock.exchange(rank, taker, 1, blocks * it.block_bytes, blocks > 1);
      }
    }
    clock.end_superstep();
  }
  return clock.seconds();
}

double seconds_of(const Exchange& it, const Scheme& scheme) {
  if (!scheme.by_region && scheme.radix >= it.machine.size()) return seconds_direct(it);
  const Route route(it.machine, scheme);
  return seconds_of(it, route, 0, route.supersteps());
}

/// Returns the radix for `places` places with the least `seconds`; the first of several.
template <class Seconds>
int best_radix(int places, std::int64_t ranks, bool with_all, Seconds seconds) {
  int best = 2;
  double least = std::numeric_limits<double>::infinity();
  const auto look_at = [&](int radix) {
    const double found = seconds(radix);
    if (found >= least) return;
    least = found;
    best = radix;
  };
  if (with_all || places * ranks <= most_followed) look_at(std::max(2, places));
  for (const int radix : radices) {
    if (radix < places && radix * ranks <= most_followed) look_at(radix);
  }
  return best;
}

}  // namespace

Estimate best_scheme(const Exchange& it, bool by_region, int radix) {
  const int ranks = it.machine.size();
  Scheme scheme{by_region, radix, 0};
  if (!by_region) {
    if (radix == 0) {
      scheme.radix = best_radix(ranks, ranks, true,
                                [&](int some) { return seconds_of(it, Scheme{false, some, 0}); });
    }
    return {scheme, seconds_of(it, scheme)};
  }
  const int regions = std::max(2, it.machine.regions());
  scheme.between = regions;
  if (radix == 0) {
    int largest = 0;
    for (int region = 0; region < it.machine.regions(); ++region) {
      largest = std::max(largest, static_cast<int>(it.machine.members(region).size()));
    }
    const auto inside = [&](const Route& route) {
      int supersteps = 0;
      while (supersteps < route.supersteps() && !route.between(supersteps)) ++supersteps;
      return supersteps;
    };
    scheme.radix = best_radix(largest, ranks, false, [&](int some) {
      const Route route(it.machine, {true, some, regions});
      return seconds_of(it, route, 0, inside(route));
    });
    scheme.between = best_radix(regions, ranks, false, [&](int some) {
      const Route route(it.machine, {true, scheme.radix, some});
      return seconds_of(it, route, inside(route), route.supersteps());
    });
  }
  return {scheme, seconds_of(it, scheme)};
}

std::vector<Relay> relays(const Exchange& it) {
  std::vector<Relay> found{{"direct", seconds_direct(it)}};
  if (it.machine.regions() > 1) {
    found.push_back({"two-step", seconds_by_contributor(it)});
    found.push_back({"aggregate", seconds_by_leaders(it, false)});
    found.push_back({"split", seconds_by_leaders(it, true)});
  }
  return found;
}

}  // namespace vicinal::tuna
