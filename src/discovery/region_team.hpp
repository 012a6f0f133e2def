// The ranks of a region, who hand records over to each other: through shared memory where all of
// them share it, otherwise by messages, of whose number a sum of counts inside the region tells.
// All members take part in each hand-over, so everyone knows when it has what is meant for it.
//
// Cost through memory: a look at each member, no message. By messages: log2(members) small ones and
// one to each member that is to get something.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "discovery/board.hpp"
#include "discovery/exchange.hpp"
#include "discovery/records.hpp"
#include "locality/machine.hpp"
#include "locality/region_pairs.hpp"
#include "mpi/communicator.hpp"

namespace vicinal {

/// A record on its way to the member at a place, who may hand it on.
struct Piece {
  int place = 0;
  Record record;
};

class RegionTeam {
 public:
  /// The team of this rank, made the first time. Collective then, one allgather; afterwards local.
  static RegionTeam& of(mpi::Communicator& communicator, const ExchangeOptions& options);

  RegionTeam(mpi::Communicator& communicator, std::shared_ptr<const Machine> machine,
             bool shared_memory);

  [[nodiscard]] const Machine& machine() const { return *machine_; }
  [[nodiscard]] int region() const { return region_; }
  [[nodiscard]] std::span<const int> members() const { return machine_->members(region_); }
  /// Of this rank in its region, and of others in theirs.
  [[nodiscard]] int place() const { return place_of(communicator_.rank()); }
  [[nodiscard]] int place_of(int rank) const { return places_[static_cast<std::size_t>(rank)]; }

  /// The place of the member that sends to, and receives from, another region.
  [[nodiscard]] int leader_for(int region) const {
    return place_of_leader(members().size(), region);
  }
  /// Who in another region does so for this one.
  [[nodiscard]] int counterpart(int region) const { return leader(*machine_, region, region_); }
  /// The other regions that this rank is the leader for.
  [[nodiscard]] std::span<const int> duties() const { return duties_; }

  /// The board where the members hand over through memory; null otherwise.
  [[nodiscard]] Board* board() { return board_.get(); }
  /// Whether all teams have boards; the same on all ranks.
  [[nodiscard]] bool all_have_boards() const { return all_have_boards_; }

  /// A call begins. Its number, and which of two tags it takes.
  void begin_call();
  [[nodiscard]] std::int64_t call() const { return call_; }
  [[nodiscard]] int turn() const { return turn_; }

  /// Gives each piece to the member at its place, and visits the records that are given to this
  /// one: those of one member in the order in which they were there. A record is valid during the
  /// visit. Returns whether any member came with the flag set. Stages are 0 and 1, once each in a
  /// call.
  bool hand_over(int stage, const std::vector<Piece>& pieces, bool flagged,
                 const std::function<void(const Record&)>& visit);

 private:
  bool hand_over_by_board(int stage, const std::vector<Piece>& pieces, bool flagged,
                          const std::function<void(const Record&)>& visit);
  bool hand_over_by_messages(int stage, const std::vector<Piece>& pieces, bool flagged,
                             const std::function<void(const Record&)>& visit);
  [[nodiscard]] int tag(int stage) const { return mpi::tag_region + 2 * stage + turn_; }

  mpi::Communicator& communicator_;
  std::shared_ptr<const Machine> machine_;
  int region_;
  std::vector<int> places_;
  std::vector<int> duties_;
  std::unique_ptr<Board> board_;
  bool all_have_boards_ = false;
  std::int64_t call_ = 0;
  int turn_ = 0;
};

}  // namespace vicinal
