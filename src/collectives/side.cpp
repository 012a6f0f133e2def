// Lays out the pieces in the memory of a plan, and packs them.
#include "collectives/side.hpp"

#include <algorithm>
#include <optional>

namespace vicinal {

namespace {

bool needs_packing(const EdgeData& data) {
  return data.in_place ||
         std::any_of(data.pieces.begin(), data.pieces.end(), [](const EdgePiece& piece) {
           return piece.count > 0 && !piece.type.contiguous;
         });
}

/// Returns whether pieces overlap. They have no gaps.
bool has_overlaps(const EdgeData& data) {
  std::vector<std::pair<std::int64_t, std::int64_t>> places;
  for (const EdgePiece& piece : data.pieces) {
    if (piece.bytes() > 0) places.emplace_back(piece.offset, piece.offset + piece.bytes());
  }
  std::sort(places.begin(), places.end());
  return std::adjacent_find(places.begin(), places.end(), [](const auto& a, const auto& b) {
           return b.first < a.second;
         }) != places.end();
}

}  // namespace

Side::Side(EdgeData data, bool apart) : data_(std::move(data)) {
  packed_ = needs_packing(data_) || (apart && has_overlaps(data_));
  std::int64_t bytes = 0, lowest = 0;
  bool first = true;
  for (const EdgePiece& piece : data_.pieces) {
    places_.push_back(packed_ ? bytes : piece.offset);
    bytes += piece.bytes();
    if (piece.bytes() == 0) continue;
    lowest = first ? piece.offset : std::min(lowest, piece.offset);
    first = false;
  }
  start_ = address(data_.buffer, lowest);
  if (packed_) {
    keep_packed(bytes);
    return;
  }
  for (std::size_t i = 0; i < places_.size(); ++i) {
    places_[i] = data_.pieces[i].bytes() > 0 ? places_[i] - lowest : 0;
  }
}

Side Side::gapless(EdgeData data) {
  Side side;
  side.data_ = std::move(data);
  side.packed_ = needs_packing(side.data_);
  std::int64_t bytes = 0;
  std::optional<std::int64_t> start;  // where the user's pieces begin, if they lie without gaps
  for (const EdgePiece& piece : side.data_.pieces) {
    side.places_.push_back(bytes);
    if (piece.bytes() > 0) {
      const std::int64_t begin = piece.offset - bytes;
      if (!start) start = begin;
      side.packed_ = side.packed_ || begin != *start;
    }
    bytes += piece.bytes();
  }
  side.start_ = address(side.data_.buffer, start.value_or(0));
  if (side.packed_) side.keep_packed(bytes);
  return side;
}

Side::Side(EdgeData data, std::int64_t block_bytes, const Ends& ends)
    : data_(std::move(data)), place_bytes_(block_bytes) {
  packed_ = needs_packing(data_);
  for (const EdgePiece& piece : data_.pieces) {
    places_.push_back(piece.entry);
    packed_ = packed_ || piece.offset != piece.entry * block_bytes;
  }
  start_ = address(data_.buffer, 0);
  const std::size_t blocks = data_.one_block ? 1 : ends.ranks.size();
  if (packed_) keep_packed(static_cast<std::int64_t>(blocks) * block_bytes);
}

void Side::keep_packed(std::int64_t bytes) {
  require_reachable(start_, data_.in_place ? "receive buffer, with MPI_IN_PLACE,"
                                           : "buffer of a datatype with gaps");
  types_ = keep_types(data_, false);
  bytes_ = MemoryBlock(kind_of(start_).staging(), static_cast<std::size_t>(bytes));
}

void Side::pack_all(MPI_Comm communicator) {
  for (std::size_t i = 0; i < data_.pieces.size(); ++i) pack(i, 0, 1, communicator);
}

void Side::unpack_all(MPI_Comm communicator) const {
  for (std::size_t i = 0; i < data_.pieces.size(); ++i) unpack(i, 0, 1, communicator);
}

void Side::pack(std::size_t edge, int part, int parts, MPI_Comm communicator) {
  if (!packed_) return;
  const EdgePiece& piece = data_.pieces[edge];
  const Index count = piece.count / parts, first = part * count;
  mpi::pack(piece.type, address(data_.buffer, piece.offset + first * piece.type.extent), count,
            bytes_.data() + packed_offset(edge) + first * piece.type.size, communicator);
}

void Side::unpack(std::size_t edge, int part, int parts, MPI_Comm communicator) const {
  if (!packed_) return;
  const EdgePiece& piece = data_.pieces[edge];
  const Index count = piece.count / parts, first = part * count;
  mpi::unpack(piece.type, bytes_.data() + packed_offset(edge) + first * piece.type.size,
              address(data_.buffer, piece.offset + first * piece.type.extent), count, communicator);
}

}  // namespace vicinal
