// The schedule of one rank in an allgather, before it is a plan: the blocks that it gives and
// takes, in order. An algorithm writes it from the machine, which every rank knows, so no
// communication is needed. negotiation.hpp makes a plan of it.
//
// Algorithms are written for a team: ranks that each hold some blocks at first, and in the end hold
// all blocks of the team. So one algorithm can serve as a part of another.
#pragma once

#include <span>
#include <vector>

#include "cost/profile.hpp"
#include "locality/machine.hpp"
#include "planners/allgather/blocks.hpp"

namespace vicinal::allgather {

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

// Algorithms for a team with the schedule's rank as a member. A rank sends nothing if it has no
// blocks to give, or if no rank lacks them.
void gather_by_bruck(const Team& team, Schedule& schedule);
void gather_by_dissemination(const Team& team, Schedule& schedule);
void gather_by_recursive_doubling(const Team& team, Schedule& schedule);
void gather_by_ring(const Team& team, Schedule& schedule);
void gather_by_locality(const Team& team, Schedule& schedule);

/// Returns the factor by which `gather_by_locality` multiplies a group's blocks in each step. There
/// are `groups` groups, the smallest with `smallest` ranks.
int locality_base(int groups, int smallest, const Profile& profile);

/// Gathers in a team inside a region: each member reads the others' blocks from shared memory if
/// all can, else by Bruck's algorithm.
void gather_inside(const Team& team, Schedule& schedule);
/// Moves all blocks to the member at `root` (collect), or from there to the others (hand_out):
/// directly through shared memory, else along a binomial tree.
void collect(const Team& team, int root, Schedule& schedule);
void hand_out(const Team& team, int root, const Blocks& blocks, Schedule& schedule);

}  // namespace vicinal::allgather
