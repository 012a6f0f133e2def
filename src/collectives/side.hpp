// One side of a collective while it is executed. A plan moves raw bytes: of the user's buffer
// itself if all of its datatypes are dense, else of a packed copy.
#pragma once

#include <mpi.h>

#include <cstddef>
#include <vector>

#include "collectives/edge_data.hpp"
#include "memory/kind.hpp"

namespace vicinal {

class Side {
 public:
  Side() = default;
  /// `data` have been checked. Places are in bytes, from the lowest byte in use. `apart`: no two
  /// edges share a place, even if the user's pieces overlap.
  explicit Side(EdgeData data, bool apart = false);
  /// Makes a side whose places are in bytes. The place of an edge follows that of the edge before,
  /// wherever the user's pieces lie.
  static Side gapless(EdgeData data);
  /// Places are blocks: the place of an edge is its entry. The data are equal blocks, or one block.
  Side(EdgeData data, std::int64_t block_bytes, const Ends& ends);

  /// Memory to which a plan is bound.
  [[nodiscard]] std::byte* data() const { return packed_ ? bytes_.data() : start_; }
  /// Place of an edge's piece in data().
  [[nodiscard]] Index place(std::size_t edge) const { return places_[data_.one_block ? 0 : edge]; }
  [[nodiscard]] const EdgePiece& piece(std::size_t edge) const { return data_.piece(edge); }

  /// Copies from the user's buffer, or to it. Does nothing if the plan is bound to that buffer.
  void pack(MPI_Comm communicator) {
    if (packed_) pack_all(communicator);
  }
  void unpack(MPI_Comm communicator) const {
    if (packed_) unpack_all(communicator);
  }
  /// As above, for one of the equal parts of an edge's piece.
  void pack(std::size_t edge, int part, int parts, MPI_Comm communicator);
  void unpack(std::size_t edge, int part, int parts, MPI_Comm communicator) const;

 private:
  void pack_all(MPI_Comm communicator);
  void unpack_all(MPI_Comm communicator) const;
  /// Sets up packing, in `bytes` bytes.
  void keep_packed(std::int64_t bytes);
  [[nodiscard]] std::int64_t packed_offset(std::size_t piece) const {
    return places_[piece] * place_bytes_;
  }

  EdgeData data_;
  bool packed_ = false;
  std::byte* start_ = nullptr;
  std::int64_t place_bytes_ = 1;
  std::vector<Index> places_;  ///< by piece
  MemoryBlock bytes_;
  /// copies of the types that pack and unpack use: the user may free theirs
  std::vector<mpi::KeptType> types_;
};

}  // namespace vicinal
