// Where pieces lie in what a plan moves, and packing.
#include "collectives/side.hpp"

#include <algorithm>

namespace vicinal {

namespace {

bool needs_packing(const EdgeData& data) {
  return std::any_of(data.pieces.begin(), data.pieces.end(), [](const EdgePiece& piece) {
    return piece.count > 0 && !piece.type.contiguous;
  });
}

}  // namespace

Side::Side(EdgeData data) : data_(std::move(data)) {
  packed_ = needs_packing(data_);
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

Side::Side(EdgeData data, std::int64_t block_bytes, const Ends& ends)
    : data_(std::move(data)), place_bytes_(block_bytes) {
  packed_ = needs_packing(data_);
  for (const EdgePiece& piece : data_.pieces) places_.push_back(piece.entry);
  start_ = address(data_.buffer, 0);
  const std::size_t blocks = data_.one_block ? 1 : ends.ranks.size();
  if (packed_) keep_packed(static_cast<std::int64_t>(blocks) * block_bytes);
}

void Side::keep_packed(std::int64_t bytes) {
  require_reachable(start_, "buffer of a datatype with gaps");
  types_ = keep_types(data_, false);
  bytes_ = MemoryBlock(kind_of(start_).staging(), static_cast<std::size_t>(bytes));
}

void Side::pack(MPI_Comm communicator) {
  if (!packed_) return;
  for (std::size_t i = 0; i < data_.pieces.size(); ++i) {
    const EdgePiece& piece = data_.pieces[i];
    mpi::pack(piece.type, address(data_.buffer, piece.offset), piece.count,
              bytes_.data() + packed_offset(i), communicator);
  }
}

void Side::unpack(MPI_Comm communicator) const {
  if (!packed_) return;
  for (std::size_t i = 0; i < data_.pieces.size(); ++i) {
    const EdgePiece& piece = data_.pieces[i];
    mpi::unpack(piece.type, bytes_.data() + packed_offset(i), address(data_.buffer, piece.offset),
                piece.count, communicator);
  }
}

}  // namespace vicinal
