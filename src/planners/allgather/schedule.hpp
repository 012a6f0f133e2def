// The schedule of one rank in an allgather, before it is a plan: the blocks that it gives and
// takes, in order. A block is what one rank contributes to an allgather, identified by that rank's
// number. An algorithm writes the schedule from the machine, which every rank knows, so no
// communication is needed. plan_allgather() makes a plan of it: the ranks tell each other the
// passage of each transfer.
//
// Algorithms are written for a team: ranks that each hold some blocks at first, and in the end hold
// all blocks of the team. So one algorithm can serve as a part of another.
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "cost/profile.hpp"
#include "locality/machine.hpp"
#include "negotiate/planner.hpp"

namespace vicinal::allgather {

/// A set of blocks, as a rank holds or a message carries it.
class Blocks {
 public:
  /// Blocks of ranks first to last - 1.
  struct Range {
    int first = 0;
    int last = 0;
    friend bool operator==(const Range&, const Range&) = default;
  };

  Blocks() = default;
  explicit Blocks(int rank) : ranges_{{rank, rank + 1}} {}

  /// Returns the blocks that any of the sets has.
  static Blocks united(std::span<const Blocks> sets);
  void add(const Blocks& more);
  /// Returns the blocks that `others` lacks.
  [[nodiscard]] Blocks without(const Blocks& others) const;

  [[nodiscard]] bool empty() const { return ranges_.empty(); }
  /// Returns the ranges: ascending, disjoint and not adjacent.
  [[nodiscard]] const std::vector<Range>& ranges() const { return ranges_; }
  friend bool operator==(const Blocks&, const Blocks&) = default;

 private:
  static Blocks joined(std::vector<Range> ranges);

  std::vector<Range> ranges_;
};

/// Blocks on their way to other ranks, or from one. A rank ignores blocks that it already has.
struct Step {
  enum class Kind { give, take } kind = Kind::give;
  Blocks blocks;
  std::vector<int> peers;  ///< the takers, or the one giver
};

class Schedule {
 public:
  Schedule(const Machine& machine, int rank, bool shared_memory, const Profile& profile)
      : machine_(machine), rank_(rank), shared_memory_(shared_memory), profile_(profile) {}

  /// Gives the same blocks to several ranks; does nothing without blocks or ranks. This rank must
  /// have the blocks by then: its own, or from earlier takes. The k-th give from one rank to
  /// another matches the k-th take there.
  void give(Blocks blocks, std::vector<int> takers);
  void take(Blocks blocks, int giver);

  [[nodiscard]] const std::vector<Step>& steps() const { return steps_; }
  [[nodiscard]] const Machine& machine() const { return machine_; }
  [[nodiscard]] int rank() const { return rank_; }
  [[nodiscard]] const Profile& profile() const { return profile_; }

  /// Returns whether `peer` reads this rank's blocks from shared memory. Only ranks of one region
  /// do, so that data between regions is a message even if one host stands for several regions.
  [[nodiscard]] bool shares_with(int peer) const {
    return shared_memory_ && machine_.same_region(rank_, peer) && machine_.same_host(rank_, peer);
  }

 private:
  const Machine& machine_;
  int rank_;
  bool shared_memory_;
  const Profile& profile_;
  std::vector<Step> steps_;
};

struct Team {
  std::vector<int> ranks;     ///< in the algorithm's order
  std::vector<Blocks> holds;  ///< by place in `ranks`: the member's initial blocks

  [[nodiscard]] int size() const { return static_cast<int>(ranks.size()); }
  /// Returns the place of a rank, which must be a member.
  [[nodiscard]] int place_of(int rank) const;
  /// Returns the blocks of `count` members from `place` on, where the first follows the last.
  [[nodiscard]] Blocks held_by(int place, int count) const;
};

/// Returns all ranks with their own blocks: in the order of their numbers, or region by region.
Team everybody(const Machine& machine);
Team by_region(const Machine& machine);

/// Gathers in a team with the schedule's rank as a member. A rank sends nothing if it has no blocks
/// to give, or if no rank lacks them.
void gather_by_bruck(const Team& team, Schedule& schedule);

// The schedules of the planners, for all ranks of the machine.
void bruck(Schedule& schedule);
void dissemination(Schedule& schedule);
void recursive_doubling(Schedule& schedule);
void ring(Schedule& schedule);
void hierarchical(Schedule& schedule);
void multi_lane(Schedule& schedule);
void locality_bruck(Schedule& schedule);

/// Gathers in a team inside a region: each member reads the others' blocks from shared memory if
/// all can, else by Bruck's algorithm.
void gather_inside(const Team& team, Schedule& schedule);
/// Moves all blocks to the member at `root` (collect), or from there to the others (hand_out):
/// directly through shared memory, else along a binomial tree.
void collect(const Team& team, int root, Schedule& schedule);
void hand_out(const Team& team, int root, const Blocks& blocks, Schedule& schedule);

/// Plans an allgather over all ranks of the machine (PlanOptions::complete) whose schedule
/// `algorithm` writes. Takes one superstep: a control message to each rank that this one gives to.
///
/// Each rank knows the counts of all; the ranks compare them separately (comparison.hpp).
Task<Plans> plan_allgather(PlanRequest request, std::string_view planner,
                           void (*algorithm)(Schedule&));

}  // namespace vicinal::allgather
