// Lists the rounds of each alternative for their price.
#include "planners/tuna/estimate.hpp"

#include <algorithm>
#include <limits>
#include <vector>

#include "cost/rounds.hpp"

namespace vicinal::tuna {

namespace {

/// The radices that are tried, besides the number of places, with which nothing is forwarded.
constexpr int radices[] = {2, 3, 4, 5, 6, 8, 10, 12, 16, 20, 24, 32, 48, 64, 96, 128};
/// The largest number of messages that are followed for one radix.
constexpr std::int64_t most_followed = std::int64_t{1} << 22;

Rounds rounds_of(const Exchange& it) {
  const double mean_over_most = it.block_bytes > 0 ? it.mean_bytes / it.block_bytes : 1;
  return {it.machine, it.profile, mean_over_most};
}

/// Adds messages from a rank to ranks as near as `peer`, and as many from them. A `packed` message
/// is gathered from several places.
void exchange(Rounds& rounds, const Exchange& it, int rank, int peer, double messages, double bytes,
              bool packed) {
  const bool shares = it.shared_memory && it.machine.same_host(rank, peer);
  rounds.exchange(rank, peer,
                  shares   ? Rounds::Transfer::slot
                  : packed ? Rounds::Transfer::packed
                           : Rounds::Transfer::message,
                  messages, bytes);
}

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
  Rounds rounds = rounds_of(it);
  for (const int rank : rounds.followed()) {
    for_each_peer(it.machine, rank, [&](int peer, double ranks) {
      exchange(rounds, it, rank, peer, ranks * it.density, it.block_bytes / it.density, false);
    });
  }
  rounds.end_round();
  return rounds.seconds();
}

/// Adds the handover inside regions of data to or from `leaders` leaders, in `parts` parts for each
/// member. Two leaders hand data to each other; other pairs do so in only one direction.
void share_out(Rounds& rounds, const Exchange& it, double parts, double leaders) {
  for (const int rank : rounds.followed()) {
    const auto members = it.machine.members(it.machine.region_of(rank));
    const auto count = static_cast<double>(members.size());
    const double each = (static_cast<double>(it.machine.size()) - count) * it.block_bytes /
                        std::min(count, leaders) / parts;
    const auto leads = [&](int member) {
      const auto place = std::find(members.begin(), members.end(), member) - members.begin();
      return static_cast<double>(place) < leaders;
    };
    for (const int peer : members) {
      const double sides = (leads(rank) ? 0.5 : 0) + (leads(peer) ? 0.5 : 0);
      if (peer != rank) exchange(rounds, it, rank, peer, sides * parts, each, true);
    }
  }
}

/// Returns the time with one message from each rank to each other region, whose receiver
/// distributes it.
double seconds_by_contributor(const Exchange& it) {
  Rounds rounds = rounds_of(it);
  for (const int rank : rounds.followed()) {
    for_each_peer(it.machine, rank, [&](int peer, double ranks) {
      const bool near = it.machine.same_region(rank, peer);
      exchange(rounds, it, rank, peer, 1, ranks * it.block_bytes, !near);
    });
  }
  rounds.end_round();
  share_out(rounds, it, std::max(1, it.machine.regions() - 1), it.machine.size());
  rounds.end_round();
  return rounds.seconds();
}

/// Returns the time with one message for each pair of regions. If `divided`, there are several
/// where a region has more members than there are other regions. Data between members is ready as
/// early as their contributions.
double seconds_by_leaders(const Exchange& it, bool divided) {
  Rounds rounds = rounds_of(it);
  const auto others = static_cast<double>(it.machine.regions() - 1);
  const double leaders = divided ? it.machine.size() : others;
  share_out(rounds, it, 1, leaders);
  for (const int rank : rounds.followed()) {
    for (const int peer : it.machine.members(it.machine.region_of(rank))) {
      if (peer != rank) exchange(rounds, it, rank, peer, 1, it.block_bytes, false);
    }
  }
  rounds.end_round();
  for (const int rank : rounds.followed()) {
    const auto members = static_cast<double>(it.machine.members(it.machine.region_of(rank)).size());
    const double parts = divided ? std::max(1.0, members / others) : 1.0;
    for_each_peer(it.machine, rank, [&](int peer, double ranks) {
      if (it.machine.same_region(rank, peer)) return;
      exchange(rounds, it, rank, peer, parts / members, members * ranks * it.block_bytes / parts,
               false);
    });
  }
  rounds.end_round();
  share_out(rounds, it, 1, leaders);
  rounds.end_round();
  return rounds.seconds();
}

/// Returns the time of supersteps `first` to `last` - 1 of a route.
double seconds_of(const Exchange& it, const Route& route, int first, int last) {
  Rounds rounds = rounds_of(it);
  for (int superstep = first; superstep < last; ++superstep) {
    const double moved = route.share_moved(superstep) * it.machine.size();
    for (const int rank : rounds.followed()) {
      const std::vector<int> takers = route.takers(superstep, rank);
      const double blocks = moved / static_cast<double>(takers.size());
      for (const int taker : takers) {
        exchange(rounds, it, rank, taker, 1, blocks * it.block_bytes, blocks > 1);
      }
    }
    rounds.end_round();
  }
  return rounds.seconds();
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
