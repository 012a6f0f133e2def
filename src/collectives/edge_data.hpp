// The arguments of a neighborhood collective. For each edge of the graph, they give the place of
// its piece in the user's buffer, its count and its type.
#pragma once

#include <mpi.h>

#include <memory>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "base/runs.hpp"
#include "collectives/graph.hpp"
#include "memory/kind.hpp"
#include "mpi/datatype.hpp"

namespace vicinal {

struct EdgePiece {
  int entry = 0;            ///< index in the user's arrays, for error messages
  std::int64_t offset = 0;  ///< bytes from the buffer's address
  Index count = 0;
  mpi::Datatype type;
  [[nodiscard]] std::int64_t bytes() const { return count * type.size; }
};

/// The data of one side.
struct EdgeData {
  const void* buffer = nullptr;   ///< the receive side writes through it
  std::vector<EdgePiece> pieces;  ///< by edge; one piece if all edges carry the same block
  bool one_block = false;         ///< all edges carry the same block
  bool in_bytes = false;   ///< displacements are in bytes: addresses, if the buffer is MPI_BOTTOM
  bool one_count = false;  ///< one count holds for all entries
  /// The data to send lie where other data are received, so a copy is made first and sent.
  bool in_place = false;
  /// Less may arrive than the receive counts announce. The standard forbids that, but MPI's own
  /// messages allow it.
  bool at_most = false;
  std::shared_ptr<const MemoryBlock> copy;  ///< owner of the buffer, if that is a copy
  [[nodiscard]] const EdgePiece& piece(std::size_t edge) const {
    return pieces[one_block ? 0 : edge];
  }
};

/// Names of a side's arguments in MPI's functions.
struct ArgumentNames {
  const char* count;
  const char* counts;
  const char* displacements;
  const char* type;
  const char* types;
};
/// Returns the names for `what`, which is "send" or "receive".
const ArgumentNames& names_of(std::string_view what);

/// Describes the type of an entry. A fault names the array `types` and the entry.
mpi::Datatype described_entry(MPI_Datatype type, const char* types, int entry);

/// Returns the data of a side. `count(entry)`: number of elements of an edge's piece. `place(entry,
/// extent)`: the byte at which the piece begins.
template <class CountOf, class PlaceOf>
EdgeData blocks_by_entry(const void* buffer, MPI_Datatype type, const Ends& ends, CountOf count,
                         PlaceOf place) {
  EdgeData data;
  data.buffer = buffer;
  data.pieces.reserve(ends.entry_of.size());
  std::optional<mpi::Datatype> description;
  for (const int entry : ends.entry_of) {
    const Index elements = count(entry);
    if (elements == 0) {
      data.pieces.push_back({entry, 0, 0, mpi::bytes()});
      continue;
    }
    if (!description) description = mpi::describe(type);
    data.pieces.push_back({entry, place(entry, description->extent), elements, *description});
  }
  return data;
}

/// The four forms in which MPI's arguments describe a side. Types are read only if there are
/// elements: elsewhere MPICH accepts MPI_DATATYPE_NULL. The arrays have an entry for each of
/// `ends.ranks`. Displacements are in extents of the type, or, if there are several types, in
/// bytes.
EdgeData one_block(const void* buffer, Index count, MPI_Datatype type, const Ends& ends);
EdgeData equal_blocks(const void* buffer, Index count, MPI_Datatype type, const Ends& ends);
template <class Count, class Displacement>
EdgeData blocks(const void* buffer, const Count* counts, const Displacement* displacements,
                MPI_Datatype type, const Ends& ends) {
  return blocks_by_entry(
      buffer, type, ends, [=](int entry) -> Index { return counts[entry]; },
      [=](int entry, std::int64_t extent) { return product(displacements[entry], extent); });
}
template <class Count>
EdgeData typed_blocks(const void* buffer, const Count* counts, const MPI_Aint* displacements,
                      const MPI_Datatype* types, const Ends& ends, const char* name_of_types) {
  EdgeData data;
  data.buffer = buffer;
  data.in_bytes = true;
  data.pieces.reserve(ends.entry_of.size());
  for (const int entry : ends.entry_of) {
    if (counts[entry] == 0) {
      data.pieces.push_back({entry, 0, 0, mpi::bytes()});
      continue;
    }
    const bool known = !data.pieces.empty() && data.pieces.back().type.handle == types[entry];
    data.pieces.push_back(
        {entry, displacements[entry], counts[entry],
         known ? data.pieces.back().type : described_entry(types[entry], name_of_types, entry)});
  }
  return data;
}

/// Number of equal partitions in which edges become ready or arrive, by entry of the user's arrays.
struct PartitionCounts {
  std::vector<int> send;
  std::vector<int> receive;
};

/// Both sides of a collective.
struct NeighborArguments {
  EdgeData send;
  EdgeData receive;
  /// An identity for each element sent, edge after edge. Elements with one identity have equal
  /// values, and travel once if the planner can share them.
  std::optional<std::vector<Index>> items;
  std::optional<PartitionCounts> partitions;
  bool equal_blocks = false;  ///< all ranks send blocks of the same size along all edges
  /// Size of those blocks, on a rank that participates without edges of its own.
  std::int64_t idle_block_bytes = 0;
};

/// Throws a count or buffer fault if the data of a side are visibly wrong. `what` is "send" or
/// "receive".
void check(const EdgeData& data, const char* what);

/// Throws a buffer fault if a block to send shares memory with one that is received. For datatypes
/// with gaps, only the place of the first byte of data is certain.
void check_apart(const EdgeData& send, const EdgeData& receive);

/// Throws a buffer fault if two received blocks share memory, which MPI forbids. Sorts the blocks
/// unless they are in the order of memory. Treats datatypes with gaps as check_apart().
void check_disjoint(const EdgeData& receive);

/// Throws a count fault if piece `from` does not fit piece `to`.
void check_fits(const EdgePiece& from, const EdgeData& receive, const EdgePiece& to);

/// Copies a piece to another one, whatever their types. Throws as check_fits().
void copy_piece(const EdgeData& send, const EdgePiece& from, const EdgeData& receive,
                const EdgePiece& to, MPI_Comm communicator);

/// Logs once that receive counts announce more than was sent.
void note_room_left() noexcept;

/// Copies the types of the pieces, which name the copies from then on, so the user may free theirs.
/// Copies types without gaps only on request: callers that move such data as bytes do not need
/// them.
std::vector<mpi::KeptType> keep_types(EdgeData& data, bool without_gaps_too);

/// Returns the data to send with MPI_IN_PLACE in an exchange among all ranks: to each rank the
/// block that comes from it.
EdgeData sent_in_place(const EdgeData& receive);

/// Returns the address that the user means, also if the buffer is MPI_BOTTOM.
[[nodiscard]] std::byte* address(const void* buffer, std::int64_t offset);

}  // namespace vicinal
