// One side of a collective while it is executed. A plan moves raw bytes: from and to the user's
// buffer itself where all of its datatypes are dense, else packed bytes beside it.
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
  /// Of data that have been checked. Places are in bytes, from the lowest byte that is touched. `apart`: no
  /// two edges share a place, also where the user's pieces overlap.
  explicit Side(EdgeData data, bool apart = false);
  /// Places are in bytes, and those of an edge come right after those of the edge before, wherever the user's pieces lie.
  static Side gapless(EdgeData data);
  /// Places are blocks: that of an edge is its entry. The data are equal blocks, or one block.
  Side(EdgeData data, std::int64_t block_bytes, const Ends& ends);

  /// What a plan is bound to.
  [[nodiscard]] std::byte* data() const { return packed_ ? bytes_.data() : start_; }
  /// Where the piece of an edge lies in it.
  [[nodiscard]] Index place(std::size_t edge) const { return places_[data_.one_block ? 0 : edge]; }
  [[nodiscard]] const EdgePiece& piece(std::size_t edge) const { return data_.piece(edge); }

  /// From the user's buffer, and to it; nothing where the plan is bound to that.
  void pack(MPI_Comm communicator) {
    if (packed_) pack_all(communicator);
  }
  void unpack(MPI_Comm communicator) const {
    if (packed_) unpack_all(communicator);
  }
  /// The same for one of the equal parts of one edge's piece.
  void pack(std::size_t edge, int part, int parts, MPI_Comm communicator);
  void unpack(std::size_t edge, int part, int parts, MPI_Comm communicator) const;

 private:
  void pack_all(MPI_Comm communicator);
  void unpack_all(MPI_Comm communicator) const;
  /// Has data packed, in so many bytes.
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
  std::vector<mpi::KeptType> types_;  ///< those that pack and unpack: the user may free theirs
};

}  // namespace vicinal
