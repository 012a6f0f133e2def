// A nonblocking consensus: finds out whether all ranks have reached a point. If all regions have
// boards, each member shows there that it is ready. The region leader, the region's first member,
// collects this, exchanges log2(regions) messages with the other region leaders, and shows the
// result. Otherwise MPI's nonblocking allreduce among all ranks serves.
//
// The rounds between region leaders are those of the dissemination barrier (Hensgen, Finkel and
// Manber 1988), which needs no power of two.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>

#include "discovery/region_team.hpp"
#include "mpi/collectives.hpp"

namespace vicinal {

class Consensus {
 public:
  Consensus(mpi::Communicator& communicator, RegionTeam& team, bool flagged)
      : communicator_(communicator), team_(team), flagged_(flagged ? 1 : 0) {}
  Consensus(const Consensus&) = delete;
  Consensus& operator=(const Consensus&) = delete;

  /// Announces that this rank has reached the point.
  void enter();
  /// Returns whether all ranks have. To be polled until true.
  bool complete();
  /// Returns whether any rank set the flag; valid after completion.
  [[nodiscard]] bool flagged() const { return flagged_ != 0; }

 private:
  bool members_ready();
  bool region_leaders_agree();

  mpi::Communicator& communicator_;
  RegionTeam& team_;
  std::int64_t flagged_;
  std::optional<mpi::PendingOperation> allreduce_;
  bool ready_ = false;  ///< all members are ready; on region leaders
  int step_ = 0;        ///< distance of the current round; 0 before the first
  std::int64_t leaving_ = 0;
  std::int64_t arriving_ = 0;
  mpi::PendingOperation out_;
  mpi::PendingOperation in_;
};

}  // namespace vicinal
