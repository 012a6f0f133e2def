// Whether all ranks have come to a point, found out while other things go on. Where regions share
// memory, the members of each show that they are ready, their region leader (the first of them) does so
// for all in log2(regions) messages between region leaders, and shows the result. Otherwise MPI's
// nonblocking allreduce among all ranks serves.
//
// The rounds between region leaders are those of the dissemination barrier (Hensgen, Finkel and Manber
// 1988), which needs no power of two.
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

  /// This rank has come.
  void enter();
  /// Looks whether all have. To be called until it says so.
  bool complete();
  /// Whether any rank came with the flag set, once it is complete.
  [[nodiscard]] bool flagged() const { return flagged_ != 0; }

 private:
  bool members_ready();
  bool region_leaders_agree();

  mpi::Communicator& communicator_;
  RegionTeam& team_;
  std::int64_t flagged_;
  std::optional<mpi::PendingOperation> allreduce_;
  bool ready_ = false;  ///< all members are; for region leaders
  int step_ = 0;        ///< the distance of the round under way; 0 before the first
  std::int64_t leaving_ = 0;
  std::int64_t arriving_ = 0;
  mpi::PendingOperation out_;
  mpi::PendingOperation in_;
};

}  // namespace vicinal
