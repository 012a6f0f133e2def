// What the arguments of a neighborhood collective say: for each edge of the graph, where its piece
// of the user's buffer lies and what it holds.
#pragma once

#include <mpi.h>

#include <memory>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "base/product.hpp"
#include "base/runs.hpp"
#include "collectives/graph.hpp"
#include "memory/kind.hpp"
#include "mpi/datatype.hpp"

namespace vicinal {

struct EdgePiece {
  int entry = 0;            ///< of the user's arrays, for messages
  std::int64_t offset = 0;  ///< bytes from the buffer's address
  Index count = 0;
  mpi::Datatype type;
  [[nodiscard]] std::int64_t bytes() const { return count * type.size; }
};

/// One side's data.
struct EdgeData {
  const void* buffer = nullptr;   ///< written through on the receive side
  std::vector<EdgePiece> pieces;  ///< by edge; a single one where all carry the same block
  bool one_block = false;         ///< all edges carry the same block
  bool in_bytes = false;   ///< displacements were bytes: addresses, where the buffer is MPI_BOTTOM
  bool one_count = false;  ///< one count holds for all entries
  /// What is sent lies where something else is received: whoever moves the data moves a copy, which is taken first.
  bool in_place = false;
  /// Of what is received less may come than the counts announce. The standard forbids it, but MPI's own messages allow it.
  bool at_most = false;
  std::shared_ptr<const MemoryBlock> copy;  ///< that the buffer is, where it is one
  [[nodiscard]] const EdgePiece& piece(std::size_t edge) const {
    return pieces[one_block ? 0 : edge];
  }
};

/// What MPI calls the arguments of a side.
struct ArgumentNames {
  const char* count;
  const char* counts;
  const char* displacements;
  const char* type;
  const char* types;
};
/// Of `what`, which is "send" or "receive".
const ArgumentNames& names_of(std::string_view what);

/// Has a fault say which of the types in an array it is.
mpi::Datatype described_entry(MPI_Datatype type, const char* types, int entry);

/// `count(entry)`: how many elements an edge's piece has. `place(entry, extent)`: at which byte it begins.
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

/// The four ways in which MPI's arguments describe a side. Types are looked at only where there are
/// elements: MPICH takes MPI_DATATYPE_NULL elsewhere. The arrays have an entry for each of `ends.ranks`;
/// displacements are in extents of the type, or where there are several types, in bytes.
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

/// In how many equal partitions edges become ready or arrive, by entry of the user's arrays.
struct PartitionCounts {
  std::vector<int> send;
  std::vector<int> receive;
};

/// Both sides of a collective.
struct NeighborArguments {
  EdgeData send;
  EdgeData receive;
  /// An identity for each element sent, edge after edge: elements of one identity have equal
  /// values, and travel once where the planner can share them.
  std::optional<std::vector<Index>> items;
  std::optional<PartitionCounts> partitions;
  bool equal_blocks = false;  ///< all ranks send blocks of the same size along all edges
  /// Of those blocks, where this rank takes part without an edge of its own.
  std::int64_t idle_block_bytes = 0;
};

/// What can be seen to be wrong with a side: `what` is "send" or "receive". Throws count and buffer
/// faults.
void check(const EdgeData& data, const char* what);

/// Throws a buffer fault where a block that is sent shares memory with one that is received. Of
/// datatypes with gaps only the first byte of data is known to lie where it seems to.
void check_apart(const EdgeData& send, const EdgeData& receive);

/// Throws a buffer fault where two blocks that are received share memory, which MPI forbids. Reads the blocks once where
/// they lie in the order of memory, else sorts them. Of datatypes with gaps as above.
void check_disjoint(const EdgeData& receive);

/// Copies of the types, which the pieces then name: the user may free theirs. Types without gaps are
/// left out on request, for those who move such data as bytes.
std::vector<mpi::KeptType> keep_types(EdgeData& data, bool without_gaps_too);

/// What is sent with MPI_IN_PLACE among all ranks: to each the same as comes from it, from its place.
EdgeData sent_in_place(const EdgeData& receive);

/// An address as the user means it, also where the buffer is MPI_BOTTOM.
[[nodiscard]] std::byte* address(const void* buffer, std::int64_t offset);

}  // namespace vicinal
