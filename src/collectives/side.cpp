// Where pieces lie in what a plan moves, and packing.
#include "collectives/side.hpp"

#include <algorithm>
#include <map>

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
  if (packed_) {
    keep_types();
    bytes_.resize(static_cast<std::size_t>(bytes));
    return;
  }
  start_ = address(data_.buffer, lowest);
  for (std::size_t i = 0; i < places_.size(); ++i) {
    places_[i] = data_.pieces[i].bytes() > 0 ? places_[i] - lowest : 0;
  }
}

Side::Side(EdgeData data, std::int64_t block_bytes, const Ends& ends)
    : data_(std::move(data)), place_bytes_(block_bytes) {
  packed_ = needs_packing(data_);
  for (const EdgePiece& piece : data_.pieces) places_.push_back(piece.entry);
  start_ = address(data_.buffer, 0);
  if (packed_) {
    keep_types();
    const std::size_t blocks = data_.one_block ? 1 : ends.ranks.size();
    bytes_.resize(blocks * static_cast<std::size_t>(block_bytes));
  }
}

Side Side::end_to_end(EdgeData data) {
  Side side(std::move(data));
  std::int64_t bytes = 0;
  bool in_place = true;
  for (std::size_t i = 0; i < side.places_.size(); ++i) {
    const std::int64_t size = side.data_.pieces[i].bytes();
    in_place = in_place && (size == 0 || side.places_[i] == bytes);
    side.places_[i] = bytes;
    bytes += size;
  }
  if (!side.packed_ && !in_place) {
    side.packed_ = true;
    side.bytes_.resize(static_cast<std::size_t>(bytes));
  }
  return side;
}

/// Types without gaps are copied as bytes, and not looked at again.
void Side::keep_types() {
  std::map<MPI_Datatype, MPI_Datatype> kept;
  for (EdgePiece& piece : data_.pieces) {
    if (piece.type.contiguous) continue;
    MPI_Datatype& copy = kept.try_emplace(piece.type.handle, MPI_DATATYPE_NULL).first->second;
    if (copy == MPI_DATATYPE_NULL) {
      copy = types_.emplace_back(piece.type.handle).handle();
    }
    piece.type.handle = copy;
  }
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
