// Creates teams, and hands over records by board or by messages. An area of the board begins with
// the offset of each member's records, and the end of the last. A member whose data do not fit into
// the arena says so in its post, and sends each other member a message.
//
// A post is written before its call number (release), and read after it (acquire). The destructor
// of a board returns nothing to the arena, since other members may still read: the memory is freed
// with the arena.
#include "discovery/region_team.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <map>
#include <utility>

#include "base/error.hpp"
#include "discovery/round.hpp"
#include "mpi/backoff.hpp"
#include "mpi/collectives.hpp"

namespace vicinal {

namespace {

constexpr std::size_t smallest_area = 4096;

std::size_t parity_of(std::int64_t call) { return static_cast<std::size_t>(call % 2); }

}  // namespace

Board::Board(Arena& arena) : arena_(arena), own_(arena.allocate(sizeof(Lines), alignof(Lines))) {
  // Most exchanges need no more, so they allocate nothing later.
  for (auto& areas : areas_) {
    for (Area& area : areas) area = {arena_.allocate(smallest_area), smallest_area};
  }
}

Board::Lines& Board::lines(std::int64_t offset) const {
  // Zeroed memory is a valid state of Lines.
  return *reinterpret_cast<Lines*>(arena_.at(offset));
}

const Board::Post& Board::post_of(int stage, std::int64_t call, int member) const {
  return lines(members_[static_cast<std::size_t>(member)]).posts[stage][parity_of(call)];
}

std::byte* Board::room(int stage, std::int64_t call, std::size_t bytes) {
  Area& area = areas_[stage][parity_of(call)];
  if (area.offset >= 0 && area.bytes >= bytes) return arena_.at(area.offset);
  if (area.offset >= 0) arena_.release(area.offset);
  area = {};
  const std::size_t wanted = std::max(bytes + bytes / 2, smallest_area);
  try {
    area = {arena_.allocate(wanted), wanted};
  } catch (const std::exception&) {
    return nullptr;
  }
  return arena_.at(area.offset);
}

void Board::post(int stage, std::int64_t call, bool flagged) {
  Post& post = lines(own_).posts[stage][parity_of(call)];
  post.area = areas_[stage][parity_of(call)].offset;
  post.flagged = flagged ? 1 : 0;
  post.call.store(call, std::memory_order_release);
}

bool Board::posted(int stage, std::int64_t call, int member) const {
  return post_of(stage, call, member).call.load(std::memory_order_acquire) == call;
}

Board::Shown Board::shown(int stage, std::int64_t call, int member) const {
  const Post& post = post_of(stage, call, member);
  const bool roomy = post.area >= 0;
  return {roomy, post.flagged != 0, roomy ? arena_.at(post.area) : nullptr};
}

void Board::show_ready(std::int64_t call, bool flagged) {
  lines(own_).ready.value.store(2 * call + (flagged ? 1 : 0), std::memory_order_release);
}

std::int64_t Board::ready(int member) const {
  return lines(members_[static_cast<std::size_t>(member)])
      .ready.value.load(std::memory_order_acquire);
}

void Board::show_decision(std::int64_t call, bool flagged) {
  lines(own_).decision.value.store(2 * call + (flagged ? 1 : 0), std::memory_order_release);
}

std::int64_t Board::decision() const {
  return lines(members_.front()).decision.value.load(std::memory_order_acquire);
}

namespace {

/// Added by a member with the flag to each count of a hand-over by messages.
constexpr std::int64_t flag_unit = std::int64_t{1} << 40;
constexpr std::int64_t no_board = -1;

/// Teams of this rank on a communicator, by its machine and use of shared memory.
struct RegionTeams {
  std::map<std::pair<std::shared_ptr<const Machine>, bool>, std::unique_ptr<RegionTeam>> teams;
};

std::size_t as_size(int value) { return static_cast<std::size_t>(value); }

std::vector<std::vector<std::byte>> bundles_of(const std::vector<Piece>& pieces,
                                               std::size_t members) {
  std::vector<std::vector<std::byte>> bundles(members);
  for (const Piece& piece : pieces) append_record(bundles[as_size(piece.place)], piece.record);
  return bundles;
}

/// Writes an area of the board: the offsets, then the records.
void write_area(std::byte* area, const std::vector<Piece>& pieces,
                const std::vector<std::int64_t>& offsets) {
  std::memcpy(area, offsets.data(), offsets.size() * sizeof(std::int64_t));
  std::vector<std::int64_t> next = offsets;
  for (const Piece& piece : pieces) {
    std::int64_t& place = next[as_size(piece.place)];
    place = write_record(area + place, piece.record) - area;
  }
}

/// Returns the offset of each member's records in an area, and the end of the last.
std::vector<std::int64_t> offsets_of(const std::vector<Piece>& pieces, std::size_t members) {
  std::vector<std::int64_t> offsets(members + 1);
  for (const Piece& piece : pieces) {
    offsets[as_size(piece.place) + 1] += static_cast<std::int64_t>(bytes_of(piece.record));
  }
  offsets.front() = static_cast<std::int64_t>(offsets.size() * sizeof(std::int64_t));
  for (std::size_t i = 1; i < offsets.size(); ++i) offsets[i] += offsets[i - 1];
  return offsets;
}

}  // namespace

RegionTeam& RegionTeam::of(mpi::Communicator& communicator, const ExchangeOptions& options) {
  const auto machine = communicator.machine(options.regions);
  auto& team = communicator.extension<RegionTeams>().teams[{machine, options.shared_memory}];
  if (!team) team = std::make_unique<RegionTeam>(communicator, machine, options.shared_memory);
  return *team;
}

RegionTeam::RegionTeam(mpi::Communicator& communicator, std::shared_ptr<const Machine> machine,
                       bool shared_memory)
    : communicator_(communicator),
      machine_(std::move(machine)),
      region_(machine_->region_of(communicator.rank())),
      places_(as_size(machine_->size())) {
  for (int region = 0; region < machine_->regions(); ++region) {
    int place = 0;
    for (const int rank : machine_->members(region)) places_[as_size(rank)] = place++;
  }
  for (int region = 0; region < machine_->regions(); ++region) {
    if (region != region_ && leader_for(region) == this->place()) duties_.push_back(region);
  }
  std::int64_t mine = no_board;
  if (shared_memory && communicator.arena() != nullptr && share_a_host(*machine_, region_)) {
    try {
      board_ = std::make_unique<Board>(*communicator.arena());
      mine = board_->offset();
    } catch (const Error&) {
      communicator.note_lack_of_room();  // fall back to messages
    } catch (const std::exception&) {
      board_.reset();
    }
  }
  const std::vector<std::int64_t> all = mpi::allgather(communicator.handle(), std::span(&mine, 1));
  all_have_boards_ = std::find(all.begin(), all.end(), no_board) == all.end();
  std::vector<std::int64_t> offsets;
  for (const int rank : members()) offsets.push_back(all[as_size(rank)]);
  if (std::find(offsets.begin(), offsets.end(), no_board) != offsets.end()) board_.reset();
  if (board_) board_->join(std::move(offsets));
}

void RegionTeam::begin_call() {
  ++call_;
  parity_ = next_parity(communicator_);
}

bool RegionTeam::hand_over(int stage, const std::vector<Piece>& pieces, bool flagged,
                           const std::function<void(const Record&)>& visit) {
  return board_ ? hand_over_by_board(stage, pieces, flagged, visit)
                : hand_over_by_messages(stage, pieces, flagged, visit);
}

bool RegionTeam::hand_over_by_board(int stage, const std::vector<Piece>& pieces, bool flagged,
                                    const std::function<void(const Record&)>& visit) {
  const std::size_t size = members().size();
  const std::vector<std::int64_t> offsets = offsets_of(pieces, size);
  std::byte* const area = board_->room(stage, call_, static_cast<std::size_t>(offsets.back()));
  std::vector<std::vector<std::byte>> bundles;
  Round round(communicator_, tag(stage));
  if (area != nullptr) {
    write_area(area, pieces, offsets);
  } else {
    communicator_.note_lack_of_room();
    bundles = bundles_of(pieces, size);
    for (std::size_t to = 0; to < size; ++to) {
      if (as_size(place()) != to) round.send({members()[to], bundles[to]}, false);
    }
  }
  board_->post(stage, call_, flagged);

  bool any = false;
  std::vector<std::byte> message;
  for (int step = 0; step < static_cast<int>(size); ++step) {
    const int from = (place() + step) % static_cast<int>(size);
    const mpi::RankAwaited reason{members()[as_size(from)], "hand over what it has for its region"};
    int looks = 0;
    mpi::poll_until(
        [&] {
          // This rank's sends may need MPI progress, and other ranks wait for them.
          if (++looks % 8 == 0) mpi::progress(communicator_.handle());
          return board_->posted(stage, call_, from);
        },
        reason);
    const Board::Shown shown = board_->shown(stage, call_, from);
    any = any || shown.flagged;
    if (shown.roomy) {
      std::int64_t range[2];
      std::memcpy(range, shown.data + as_size(place()) * sizeof(std::int64_t), sizeof range);
      for_each_record({shown.data + range[0], shown.data + range[1]}, visit);
    } else if (from == place()) {
      for_each_record(bundles[as_size(from)], visit);
    } else {
      std::optional<mpi::MatchedMessage> arrival;
      mpi::poll_until(
          [&] {
            arrival = mpi::improbe(communicator_.handle(), tag(stage), reason.rank);
            return arrival.has_value();
          },
          reason);
      message.resize(static_cast<std::size_t>(arrival->bytes));
      mpi::receive(*arrival, message);
      for_each_record(message, visit);
    }
  }
  round.finish_sends();
  return any;
}

bool RegionTeam::hand_over_by_messages(int stage, const std::vector<Piece>& pieces, bool flagged,
                                       const std::function<void(const Record&)>& visit) {
  const std::size_t size = members().size();
  const std::vector<std::vector<std::byte>> bundles = bundles_of(pieces, size);
  std::vector<std::int64_t> counts(size, flagged ? flag_unit : 0);
  Round round(communicator_, tag(stage));
  for (std::size_t to = 0; to < size; ++to) {
    if (to == as_size(place()) || bundles[to].empty()) continue;
    round.send({members()[to], bundles[to]}, false);
    ++counts[to];
  }
  for_each_record(bundles[as_size(place())], visit);
  const std::int64_t sum =
      mpi::reduce_scatter(communicator_.handle(), {members(), place()}, counts);
  const auto expected = static_cast<std::size_t>(sum % flag_unit);
  round.collect_from("other ranks of its region", expected);
  round.finish_receives();
  round.finish_sends();
  round.arrivals().for_each(
      [&](int, std::span<const std::byte> bytes) { for_each_record(bytes, visit); });
  return sum >= flag_unit;
}

}  // namespace vicinal
