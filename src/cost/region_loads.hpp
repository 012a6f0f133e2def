// Who leads which region pair, and which pairs should be relayed at all, from the point of view of the rank of a
// region that is busiest. A relayed pair costs each of its contributors a handover and its leader a message; a
// straight one costs a message for each edge. Whether that is more or less depends on what the same ranks have
// to do for other pairs, so a pair is never judged alone.
//
// A load is the time for which something is busy: a processor (which several ranks may share), a rank's own link in
// either direction, the port of the node in either direction. Of loads x of the same kind the time is taken to be
// (x1^8 + x2^8 + ...)^(1/8), which is about the largest, but falls also where one of several equally busy ones gets less
// to do. Handing in, messages and handing out come one after the other, and so, for the messages that decide, do the
// processors' overheads and the bytes; so the region's time is the sum over those, and a handover for each side where
// anything is relayed.
//
// All members of a region compute the same from the same numbers, so nobody has to be asked or told.
#pragma once

#include <array>
#include <cstdint>
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
  };
  Division division = Division::whole;
  Index part_bytes = 0;  ///< what one leader carries; 0: the model's choice
  Index element_bytes = 1;
  double bias = 1;  ///< by what a time is multiplied in which the pair that is looked at is relayed
};

/// What a region thinks of relaying a pair, as integers, which both regions compute alike with.
struct Saving {
  std::int64_t nanoseconds =
      0;  ///< that relaying the pair saves this region; negative where it costs more
  std::int64_t busiest = 0;  ///< the region's time, in nanoseconds
};
void fields(auto&& take, Is<Saving> auto& it) { take(it.nanoseconds, it.busiest); }

/// Whether both sides together gain by relaying: what one saves counts the less the less busy it is beside the other.
[[nodiscard]] bool relaying_pays(const Saving& sender, const Saving& receiver);

class RegionLoads {
 public:
  /// `members` ranks of which so many share one core (1 where each has its own; it need not be whole).
  RegionLoads(std::size_t members, double ranks_per_core, const Profile& profile,
              const RelayRules& rules);

  /// Chooses the leaders of all pairs, heaviest first: those who will have least to do with it, and rather those who
  /// have most of what is to be sent. Then finds by turns which pairs should go straight.
  void plan(std::vector<RegionPair> pairs);

  /// Places of a pair's leaders, by part. Of what comes, part j is taken by leader j modulo their number, and there are
  /// as many as the other region is expected to divide it into at most.
  [[nodiscard]] const std::vector<int>& leaders(std::size_t pair) const { return leaders_[pair]; }
  [[nodiscard]] const Saving& saving(std::size_t pair) const { return savings_[pair]; }

  /// The pairs that are relayed in the present state, which after plan() is the best that was found.
  [[nodiscard]] const std::vector<bool>& relayed() const { return relayed_; }
  void set_state(std::vector<bool> relayed);
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
  void add_bytes(Additions& to, const RegionPair& pair, int member, double bytes,
                 Index messages) const;

  [[nodiscard]] double even_share(bool outgoing) const;
  [[nodiscard]] int part_count(const RegionPair& pair, double share) const;
  void choose_leaders();
  void lead(std::size_t pair);
  [[nodiscard]] Additions straight(const RegionPair& pair) const;
  [[nodiscard]] Additions led(const RegionPair& pair, const std::vector<int>& leaders,
                              int parts) const;
  [[nodiscard]] Additions by_contributor(const RegionPair& pair) const;
  [[nodiscard]] bool goes_by_contributor(const RegionPair& pair) const;
  void find_state();
  void find_savings();
  void add(std::size_t pair, bool relayed, double sign);
  [[nodiscard]] double gain(std::size_t pair);
  void flip(std::size_t pair);

  const Profile& profile_;
  RelayRules rules_;
  std::size_t members_;
  std::size_t processors_;
  double speed_;   ///< of a processor: less than 1 where there is less than one core for all
  double attend_;  ///< of the processor that awaits a handover
  std::vector<RegionPair> pairs_;
  std::vector<std::vector<int>> leaders_;
  std::vector<int> parts_;
  std::vector<Additions> straight_, relay_;
  std::vector<bool> relayed_;
  std::vector<Saving> savings_;
  std::vector<double> load_;    ///< by resource, in the present state
  std::array<int, 2> handing_;  ///< pairs for which something is handed in, or out
};

}  // namespace vicinal
