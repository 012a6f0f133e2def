// The ranks of a region, who hand over records to each other. They use shared memory, a board, if
// all of them share it. Otherwise they use messages, and a sum of counts inside the region tells
// each member how many to expect. All members participate in each hand-over, so each knows when its
// records are complete.
//
// Cost with shared memory: one poll of each member, no message. Cost with messages: log2(members)
// small ones, and one to each member that receives records.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "discovery/exchange.hpp"
#include "discovery/parcels.hpp"
#include "locality/machine.hpp"
#include "memory/arena.hpp"
#include "mpi/communicator.hpp"

namespace vicinal {

/// Shared memory through which the ranks of a region hand over data and show their progress. Each
/// member writes to its own memory and reads the others'. A post names its call and the area that
/// holds the data. Readers do not acknowledge. Instead, each stage of an exchange alternates
/// between two posts. No rank leaves a call before all have entered it, so a member overwrites only
/// a post of a call that all have left.
class Board {
 public:
  static constexpr int stages = 2;

  /// Allocates this member's lines and its first areas. Throws a memory fault.
  explicit Board(Arena& arena);
  /// Offset of this member's lines in the arena, for the other members.
  [[nodiscard]] std::int64_t offset() const { return own_; }
  /// Makes the other members' lines readable; `offsets` are in order of place.
  void join(std::vector<std::int64_t> offsets) { members_ = std::move(offsets); }

  // Calls are numbered 1, 2, ..., with equal numbers on all members.

  /// Returns an area for this member's data, to be filled before the post. Null if the arena has no
  /// room.
  std::byte* room(int stage, std::int64_t call, std::size_t bytes);
  /// Posts the data of the area, or that there was no room.
  void post(int stage, std::int64_t call, bool flagged);

  struct Shown {
    bool roomy = false;  ///< if false, the data come by message
    bool flagged = false;
    const std::byte* data = nullptr;
  };
  [[nodiscard]] bool posted(int stage, std::int64_t call, int member) const;
  /// Returns a member's post.
  [[nodiscard]] Shown shown(int stage, std::int64_t call, int member) const;

  /// Shows that this member is ready: twice the number of the call, plus 1 if flagged. The others
  /// read it during this call only, before any member can show the next.
  void show_ready(std::int64_t call, bool flagged);
  [[nodiscard]] std::int64_t ready(int member) const;
  /// Shows the result that the region leader, member 0, found for all; encoded as in show_ready().
  void show_decision(std::int64_t call, bool flagged);
  [[nodiscard]] std::int64_t decision() const;

 private:
  struct alignas(64) Post {
    std::atomic<std::int64_t> call;
    std::int64_t area;
    std::int64_t flagged;
  };
  struct alignas(64) Word {
    std::atomic<std::int64_t> value;
  };
  struct Lines {
    Post posts[stages][2];
    Word ready;
    Word decision;
  };
  struct Area {
    std::int64_t offset = -1;
    std::size_t bytes = 0;
  };
  [[nodiscard]] Lines& lines(std::int64_t offset) const;
  [[nodiscard]] const Post& post_of(int stage, std::int64_t call, int member) const;

  Arena& arena_;
  std::int64_t own_;
  Area areas_[stages][2];
  std::vector<std::int64_t> members_;
};

/// A record for the member at a place, which may forward it.
struct Piece {
  int place = 0;
  Record record;
};

class RegionTeam {
 public:
  /// Returns the team of this rank. The first call creates it and is collective (one allgather);
  /// later calls are local.
  static RegionTeam& of(mpi::Communicator& communicator, const ExchangeOptions& options);

  RegionTeam(mpi::Communicator& communicator, std::shared_ptr<const Machine> machine,
             bool shared_memory);

  [[nodiscard]] const Machine& machine() const { return *machine_; }
  [[nodiscard]] int region() const { return region_; }
  [[nodiscard]] std::span<const int> members() const { return machine_->members(region_); }
  /// Place of this rank in its region, and of other ranks in theirs.
  [[nodiscard]] int place() const { return place_of(communicator_.rank()); }
  [[nodiscard]] int place_of(int rank) const { return places_[static_cast<std::size_t>(rank)]; }

  /// Place of the member that exchanges messages with another region.
  [[nodiscard]] int leader_for(int region) const {
    return place_of_leader(members().size(), region);
  }
  /// Rank in another region that exchanges messages with this region.
  [[nodiscard]] int counterpart(int region) const { return leader(*machine_, region, region_); }
  /// The other regions that this rank is the leader for.
  [[nodiscard]] std::span<const int> duties() const { return duties_; }

  /// The board if the members share memory; null otherwise.
  [[nodiscard]] Board* board() { return board_.get(); }
  /// Returns whether all teams have boards; equal on all ranks.
  [[nodiscard]] bool all_have_boards() const { return all_have_boards_; }

  /// Begins a call: assigns its number and one of two tags.
  void begin_call();
  [[nodiscard]] std::int64_t call() const { return call_; }
  [[nodiscard]] int parity() const { return parity_; }

  /// Gives each piece to the member at its place, and visits the records for this member. Records
  /// of one member keep their order; a record is valid during the visit. Returns whether any member
  /// set the flag. Each call uses stages 0 and 1 once each.
  bool hand_over(int stage, const std::vector<Piece>& pieces, bool flagged,
                 const std::function<void(const Record&)>& visit);

 private:
  bool hand_over_by_board(int stage, const std::vector<Piece>& pieces, bool flagged,
                          const std::function<void(const Record&)>& visit);
  bool hand_over_by_messages(int stage, const std::vector<Piece>& pieces, bool flagged,
                             const std::function<void(const Record&)>& visit);
  [[nodiscard]] int tag(int stage) const { return mpi::tag_region + 2 * stage + parity_; }

  mpi::Communicator& communicator_;
  std::shared_ptr<const Machine> machine_;
  int region_;
  std::vector<int> places_;
  std::vector<int> duties_;
  std::unique_ptr<Board> board_;
  bool all_have_boards_ = false;
  std::int64_t call_ = 0;
  int parity_ = 0;
};

}  // namespace vicinal
