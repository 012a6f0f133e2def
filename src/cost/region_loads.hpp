// Who leads which region pair, and which pairs should be relayed at all, from the point of view of the rank of a
// region that is busiest. A relayed pair costs each of its contributors a handover and its leader a message; a
// straight one costs a message for each edge. Whether that is more or less depends on what the same ranks have
// to do for other pairs, so a pair is never judged alone.
//
// A load is the time for which something is busy: a processor (which several ranks may share), a rank's own link in
// either direction, the port of the node in either direction. Of loads x of the same kind the time is taken to be
// (x1^8 + x2^8 + ...)^(1/8), which is about the largest, but falls also where one of several equally busy ones gets less
// to do. Handing in, messages and handing out come one after the other, so the region's time is the sum over those, and a
// handover for each side where anything is relayed. The processors' overheads and the bytes of messages overlap in part.
//
// All members of a region compute the same from the same numbers, so nobody has to be asked or told.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <vector>

#include "base/records.hpp"
#include "base/runs.hpp"
#include "cost/profile.hpp"

namespace vicinal {

/// What a member of a region has to do with another region, in one direction.
struct PairShare {
  int member = 0;      ///< its place in the region
  Index edges = 0;     ///< that carry anything
  Index elements = 0;  ///< on all of them
  Index distinct = 0;  ///< the same, each item once; an estimate for what comes
};

/// All that goes to another region, or comes from there.
struct RegionPair {
  bool outgoing = true;
  int region = 0;  ///< the other one
  Level level = Level::network;
  int receivers = 1;  ///< of what goes out: how many ranks there want any of it, as far as is known
  std::vector<PairShare> shares;  ///< by member, ascending; only those who have edges

  [[nodiscard]] Index edges() const;
  [[nodiscard]] Index elements() const;
  [[nodiscard]] Index distinct() const;
};

/// How a pair is divided among leaders.
struct RelayRules {
  enum class Division : std::uint8_t {
    whole,        ///< one leader carries all
    bytes,        ///< several, for which `part_bytes` or the model gives the number
    contributor,  ///< each contributor sends its own items; those who receive take turns
    best,         ///< for each pair `bytes` or `contributor`, whichever relieves the busiest more
  };
  Division division = Division::whole;
  Index part_bytes = 0;  ///< what one leader carries; 0: the model's choice
  Index element_bytes = 1;
  double bias = 1;  ///< by what a time is multiplied in which the pair that is looked at is relayed
};

/// A region's time, in whole nanoseconds, so that both regions of a pair compute alike with it.
struct PairTimes {
  std::int64_t relayed = 0;   ///< where the pair is relayed
  std::int64_t straight = 0;  ///< where it is not
};
void fields(auto&& take, Is<PairTimes> auto& it) { take(it.relayed, it.straight); }

/// Whether relaying puts one message in the place of one: that saves none, but others may have the work.
[[nodiscard]] constexpr bool is_one_for_one(Index edges, Index parts) {
  return edges == 1 && parts == 1;
}

/// Whether whichever of both sides is busier gains by relaying.
[[nodiscard]] bool relaying_pays(const PairTimes& sender, const PairTimes& receiver);

class RegionLoads {
 public:
  /// How a pair is served.
  enum class Way : std::uint8_t { straight, led, by_contributor };

  /// `members` ranks of which so many share one core (1 where each has its own; it need not be whole).
  RegionLoads(std::size_t members, double ranks_per_core, const Profile& profile,
              const RelayRules& rules);

  /// Chooses the leaders of all pairs, heaviest first: those who will have least to do with it, and rather those who
  /// have most of what is to be sent. Then finds by turns which pairs should be served otherwise.
  /// `idle`: which members have no edges at all, not even inside the region; none where it is empty.
  void plan(std::vector<RegionPair> pairs, std::vector<char> idle = {});

  /// Places of a pair's leaders, by part. Of what comes, part j is taken by leader j modulo their number, and there are
  /// as many as the other region may divide it into, if it does as this one does.
  [[nodiscard]] const std::vector<int>& leaders(std::size_t pair) const { return leaders_[pair]; }
  /// Whether each contributor to what goes out leads a part of its own.
  [[nodiscard]] bool by_contributor(std::size_t pair) const { return by_contributor_[pair]; }
  [[nodiscard]] const PairTimes& times(std::size_t pair) const { return times_[pair]; }

  /// Of all pairs in the present state, which after plan() is the best that was found.
  [[nodiscard]] const std::vector<Way>& state() const { return state_; }
  void set_state(std::vector<Way> state);
  /// Whether there is that way for a pair.
  [[nodiscard]] bool possible(std::size_t pair, Way way) const;
  /// The region's time in the present state.
  [[nodiscard]] double seconds() const;

 private:
  /// What a way to serve a pair adds to a load.
  struct Addition {
    std::size_t resource = 0;
    double seconds = 0;
  };
  using Additions = std::vector<Addition>;

  /// Of processors.
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
  void add(std::size_t pair, Way way, int sign);
  [[nodiscard]] double overlapped(double work, double bytes) const;
  [[nodiscard]] double weighed_seconds(std::size_t pair) const;
  [[nodiscard]] double gain(std::size_t pair, Way way);
  void change(std::size_t pair, Way way);
  [[nodiscard]] Way best_relayed(std::size_t pair);

  const Profile& profile_;
  RelayRules rules_;
  std::size_t members_;
  std::size_t processors_;
  double speed_;   ///< of a processor: less than 1 where there is less than one core for all
  double attend_;  ///< of the processor that awaits a handover
  double one_message_ = 0;  ///< what the dearest message takes of a processor
  std::vector<RegionPair> pairs_;
  std::vector<std::vector<int>> leaders_;
  std::vector<int> parts_;
  std::vector<char> idle_;  ///< by member
  std::vector<bool> by_contributor_;
  std::vector<std::array<Additions, 3>> additions_;  ///< by pair and way
  std::vector<std::array<double, 3>> latencies_;     ///< of their largest messages
  std::vector<Way> state_;
  std::vector<PairTimes> times_;
  std::vector<double> load_;                ///< by resource, in the present state
  std::vector<double> led_seconds_;         ///< by member, for the messages of what it leads
  std::map<double, int> latencies_in_use_;  ///< of pairs that go out, and how many have each
  std::array<int, 2> handing_;              ///< pairs for which something is handed in, or out
};

}  // namespace vicinal
