// Chooses the leaders of region pairs, and which pairs to relay at all, from the point of view of
// the busiest rank of a region. A relayed pair costs each of its contributors a handover and its
// leader a message. A direct pair costs a message for each edge. The better choice depends on the
// work of the same ranks for other pairs, so no pair is judged alone.
//
// A load is the time for which a resource is busy. Resources are processors (perhaps shared by
// several ranks), and in either direction a rank's own link and the port of the node. The time of
// loads x of one kind is (x1^8 + x2^8 + ...)^(1/8). The result is about the largest, but also falls
// if one of several equally busy resources gets less work. Handing in, messages and handing out
// follow one another. So the region's time is the sum over these, plus a handover for each side
// with a relayed pair. The processors' overheads and the bytes of messages overlap in part.
//
// All members of a region compute the same result from the same numbers, so they need no
// communication.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <vector>

#include "base/records.hpp"
#include "base/runs.hpp"
#include "cost/profile.hpp"

namespace vicinal {

/// Work of a member of a region with another region, in one direction.
struct PairShare {
  int member = 0;      ///< its position in the region
  Index edges = 0;     ///< those with elements
  Index elements = 0;  ///< on all of them
  Index distinct = 0;  ///< as `elements`, each item once; an estimate for incoming pairs
};

/// All that goes to another region, or comes from there.
struct RegionPair {
  bool outgoing = true;
  int region = 0;  ///< the other one
  Level level = Level::network;
  /// of an outgoing pair: how many ranks there want any of it, as far as is known
  int receivers = 1;
  std::vector<PairShare> shares;  ///< by member, ascending; only members with edges

  [[nodiscard]] Index edges() const;
  [[nodiscard]] Index elements() const;
  [[nodiscard]] Index distinct() const;
};

/// Rules by which pairs are divided among leaders.
struct RelayRules {
  enum class Division : std::uint8_t {
    whole,        ///< one leader carries all
    bytes,        ///< several, for which `part_bytes` or the model gives the number
    contributor,  ///< each contributor sends its own items; the receivers alternate
    best,  ///< for each pair `bytes` or `contributor`, whichever relieves the busiest rank more
  };
  Division division = Division::whole;
  Index part_bytes = 0;  ///< bytes carried by one leader; 0: the model's choice
  Index element_bytes = 1;
  double bias = 1;  ///< factor on a time in which the examined pair is relayed
};

/// A region's time, in whole nanoseconds, so that both regions of a pair compute the same with it.
struct PairTimes {
  std::int64_t relayed = 0;   ///< if the pair is relayed
  std::int64_t straight = 0;  ///< if it is direct
};
void fields(auto&& take, Is<PairTimes> auto& it) { take(it.relayed, it.straight); }

/// Returns whether relaying replaces one message by one message. It saves no message, but other
/// ranks may do the work.
[[nodiscard]] constexpr bool is_one_for_one(Index edges, Index parts) {
  return edges == 1 && parts == 1;
}

/// Returns whether relaying pays for the busier of both sides.
[[nodiscard]] bool relaying_pays(const PairTimes& sender, const PairTimes& receiver);

class RegionLoads {
 public:
  /// Routes of the data of a pair: by direct messages, by leaders, or by each contributor.
  enum class Route : std::uint8_t { straight, led, by_contributor };

  /// `ranks_per_core` of the `members` ranks share one core (1 if each has its own; it need not be
  /// whole).
  RegionLoads(std::size_t members, double ranks_per_core, const Profile& profile,
              const RelayRules& rules);

  /// Chooses the leaders of all pairs, heaviest pair first. Prefers members with the least work for
  /// others, then members with most of the data. Then improves step by step how pairs are served.
  /// `idle` marks members without any edge, even inside the region; empty if there are none.
  void plan(std::vector<RegionPair> pairs, std::vector<char> idle = {});

  /// Positions of a pair's leaders, by part. Of an incoming pair, part j belongs to leader j modulo
  /// their number. There are as many as the other region may divide it into, if it decides as this
  /// one does.
  [[nodiscard]] const std::vector<int>& leaders(std::size_t pair) const { return leaders_[pair]; }
  /// Returns whether each contributor to an outgoing pair leads a part of its own.
  [[nodiscard]] bool by_contributor(std::size_t pair) const { return by_contributor_[pair]; }
  [[nodiscard]] const PairTimes& times(std::size_t pair) const { return times_[pair]; }

  /// The service of each pair in the present state; after plan(), the best state found.
  [[nodiscard]] const std::vector<Route>& state() const { return state_; }
  void set_state(std::vector<Route> state);
  /// Returns whether a pair can be served that way.
  [[nodiscard]] bool possible(std::size_t pair, Route route) const;
  /// The region's time in the present state.
  [[nodiscard]] double seconds() const;

 private:
  /// Seconds that a way to serve a pair adds to a load.
  struct Addition {
    std::size_t resource = 0;
    double seconds = 0;
  };
  using Additions = std::vector<Addition>;

  /// Stages of processor work.
  enum class Stage : std::uint8_t { gather, messages, scatter };

  [[nodiscard]] std::size_t processor(Stage stage, int member) const;
  [[nodiscard]] std::size_t link(int member, bool outgoing) const;
  [[nodiscard]] std::size_t port(bool outgoing) const;
  void add_work(Additions& to, Stage stage, int member, double seconds) const;
  [[nodiscard]] double handling(const RegionPair& pair, double bytes) const;
  [[nodiscard]] double latency(const RegionPair& pair, Index elements, Index messages) const;
  void find_latencies(std::size_t pair);
  void add_bytes(Additions& to, const RegionPair& pair, int member, double bytes,
                 Index messages) const;

  [[nodiscard]] double busy_with(const RegionPair& pair, double bytes) const;
  [[nodiscard]] double even_share(bool outgoing) const;
  [[nodiscard]] int part_count(const RegionPair& pair, double share) const;
  void choose_leaders();
  void lead(std::size_t pair);
  void lead_themselves(std::size_t pair);
  void add_receivers();
  [[nodiscard]] Additions straight(const RegionPair& pair) const;
  [[nodiscard]] Additions led(const RegionPair& pair, const std::vector<int>& leaders,
                              int parts) const;
  [[nodiscard]] Additions by_contributor(const RegionPair& pair) const;
  [[nodiscard]] bool relieves(std::size_t pair) const;
  void find_state();
  void improve();
  void find_times();
  void add(std::size_t pair, Route route, int sign);
  [[nodiscard]] double overlapped(double work, double bytes) const;
  [[nodiscard]] double weighed_seconds(std::size_t pair) const;
  [[nodiscard]] double gain(std::size_t pair, Route route);
  void change(std::size_t pair, Route route);
  [[nodiscard]] Route best_relayed(std::size_t pair);

  const Profile& profile_;
  RelayRules rules_;
  std::size_t members_;
  std::size_t processors_;
  double speed_;            ///< of a processor: below 1 if there is less than one core for all
  double attend_;           ///< processor time to await a handover
  double one_message_ = 0;  ///< processor time of the most expensive message
  std::vector<RegionPair> pairs_;
  std::vector<std::vector<int>> leaders_;
  std::vector<int> parts_;
  std::vector<char> idle_;  ///< by member
  std::vector<bool> by_contributor_;
  std::vector<std::array<Additions, 3>> additions_;  ///< by pair and way
  std::vector<std::array<double, 3>> latencies_;     ///< of their largest messages
  std::vector<Route> state_;
  std::vector<PairTimes> times_;
  std::vector<double> load_;                ///< by resource, in the present state
  std::vector<double> led_seconds_;         ///< by member, for the messages of the pairs it leads
  std::map<double, int> latencies_in_use_;  ///< of outgoing pairs, and how many have each
  std::array<int, 2> handing_;              ///< pairs with something handed in, or out
};

}  // namespace vicinal
