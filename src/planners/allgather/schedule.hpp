// What a rank does in an allgather, before it is a plan: which blocks it gives to whom, and takes
// from whom, in which order. An algorithm writes the schedule of one rank from what every rank
// knows, the machine, so nothing is asked and nothing is agreed; negotiation.hpp makes a plan of it.
//
// Algorithms are written for a team: some ranks that each hold some blocks, and in the end all hold
// what any of them held. So one can serve as a part of another.
#pragma once

#include <span>
#include <vector>

#include "cost/profile.hpp"
#include "locality/machine.hpp"
#include "planners/allgather/blocks.hpp"

namespace vicinal::allgather {

/// Blocks on their way to other ranks, or from one. A rank may be given blocks that it has already,
/// and ignores them.
struct Step {
  enum class Kind { give, take } kind = Kind::give;
  Blocks blocks;
  std::vector<int> peers;  ///< whom to, or the one from whom
};

class Schedule {
 public:
  Schedule(const Machine& machine, int rank, bool shared_memory, const Profile& profile)
      : machine_(machine), rank_(rank), shared_memory_(shared_memory), profile_(profile) {}

  /// The same blocks to several ranks; nothing where there are no blocks or no ranks. This rank
  /// must have them, by then, of its own or by earlier takes. The k-th that one rank gives to
  /// another is the k-th that this takes from it.
  void give(Blocks blocks, std::vector<int> takers);
  void take(Blocks blocks, int giver);

  [[nodiscard]] const std::vector<Step>& steps() const { return steps_; }
  [[nodiscard]] const Machine& machine() const { return machine_; }
  [[nodiscard]] int rank() const { return rank_; }
  [[nodiscard]] const Profile& profile() const { return profile_; }

  /// Whether another rank reads what this one gives from shared memory: inside a region only, so
  /// that what goes between regions is a message also where one host stands for several.
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
  std::vector<int> ranks;     ///< in the order in which the algorithm has them
  std::vector<Blocks> holds;  ///< by place in `ranks`: what the member has to begin with

  [[nodiscard]] int size() const { return static_cast<int>(ranks.size()); }
  /// Where a rank stands; it must be a member.
  [[nodiscard]] int place_of(int rank) const;
  /// What `count` members from `place` on have together, the first coming after the last.
  [[nodiscard]] Blocks held_by(int place, int count) const;
};

/// All ranks with their own blocks: in the order of their numbers, or region by region.
Team everybody(const Machine& machine);
Team by_region(const Machine& machine);

// Algorithms for a team of which the schedule's rank is a member. Whoever has nothing to give, or
// whose blocks nobody lacks, sends nothing.
void gather_by_bruck(const Team& team, Schedule& schedule);
void gather_by_dissemination(const Team& team, Schedule& schedule);
void gather_by_recursive_doubling(const Team& team, Schedule& schedule);
void gather_by_ring(const Team& team, Schedule& schedule);
void gather_by_locality(const Team& team, Schedule& schedule);

/// By how much `gather_by_locality` multiplies in each step what a group of ranks has, with so many groups of which the
/// smallest has so many ranks.
int locality_base(int groups, int smallest, const Profile& profile);

/// For a team inside a region: each member reads what the others have from shared memory, where all
/// can; else by Bruck's algorithm.
void gather_inside(const Team& team, Schedule& schedule);
/// All blocks to the member at `root`, and from there to the others: straight through shared
/// memory, else along a binomial tree.
void collect(const Team& team, int root, Schedule& schedule);
void hand_out(const Team& team, int root, const Blocks& blocks, Schedule& schedule);

}  // namespace vicinal::allgather
