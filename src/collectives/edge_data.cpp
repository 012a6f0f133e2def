// Reads MPI's descriptions of buffers.
#include "collectives/edge_data.hpp"

#include <algorithm>
#include <cstdint>
#include <map>

#include "base/error.hpp"
#include "base/log.hpp"
#include "base/runs.hpp"

namespace vicinal {

EdgeData one_block(const void* buffer, Index count, MPI_Datatype type, const Ends& ends) {
  EdgeData data;
  data.buffer = buffer;
  data.one_block = true;
  if (ends.entry_of.empty()) return data;
  data.pieces.push_back({0, 0, count, count == 0 ? mpi::bytes() : mpi::describe(type)});
  return data;
}

EdgeData equal_blocks(const void* buffer, Index count, MPI_Datatype type, const Ends& ends) {
  EdgeData data = blocks_by_entry(
      buffer, type, ends, [=](int) { return count; },
      [=](int entry, std::int64_t extent) { return product(entry, product(count, extent)); });
  data.one_count = true;
  return data;
}

const ArgumentNames& names_of(std::string_view what) {
  static constexpr ArgumentNames sent{"sendcount", "sendcounts", "sdispls", "sendtype",
                                      "sendtypes"};
  static constexpr ArgumentNames received{"recvcount", "recvcounts", "rdispls", "recvtype",
                                          "recvtypes"};
  return what == "send" ? sent : received;
}

mpi::Datatype described_entry(MPI_Datatype type, const char* types, int entry) {
  try {
    return mpi::describe(type);
  } catch (const Error& error) {
    fail(error.fault(), types, "[", entry, "]: ", error.what());
  }
}

void check(const EdgeData& data, const char* what) {
  if (data.pieces.empty()) return;
  require(data.buffer != MPI_IN_PLACE, Fault::buffer, "MPI_IN_PLACE was given for the ", what,
          " buffer, but neighborhood collectives have no such form; give a buffer");
  bool announced = false;
  const ArgumentNames& names = names_of(data.in_place ? "receive" : what);
  for (const EdgePiece& piece : data.pieces) {
    if (data.one_block || data.one_count) {
      require(piece.count >= 0, Fault::count, names.count, " is ", piece.count,
              "; counts must not be negative");
    } else {
      require(piece.count >= 0, Fault::count, names.counts, "[", piece.entry, "] is ", piece.count,
              "; counts must not be negative");
    }
    // A null buffer is MPI_BOTTOM if the type, or a displacement in bytes, may hold an address.
    const bool by_address = !piece.type.contiguous || (data.in_bytes && piece.offset != 0);
    const Index bytes = product(piece.count, piece.type.size);
    announced = announced || (bytes > 0 && !by_address);
  }
  require(!announced || data.buffer != nullptr, Fault::buffer, "the ", what,
          " buffer is null, but its counts announce data");
}

namespace {

/// Returns the range of addresses in which the piece is certain to have data.
std::pair<std::uintptr_t, std::uintptr_t> occupied(const EdgeData& data, const EdgePiece& piece) {
  const auto begin = reinterpret_cast<std::uintptr_t>(
      address(data.buffer, piece.offset + piece.type.true_lower_bound));
  const Index bytes = product(piece.count, piece.type.size);
  if (bytes <= 0) return {begin, begin};
  return {begin, begin + static_cast<std::uintptr_t>(piece.type.contiguous ? bytes : 1)};
}

}  // namespace

void check_apart(const EdgeData& send, const EdgeData& receive) {
  for (const EdgePiece& sent : send.pieces) {
    const auto [begin, end] = occupied(send, sent);
    for (const EdgePiece& received : receive.pieces) {
      const auto [other_begin, other_end] = occupied(receive, received);
      require(std::max(begin, other_begin) >= std::min(end, other_end), Fault::buffer,
              "the send buffer, with ", sent.bytes(),
              " bytes of data, shares memory with the block of rank ", received.entry,
              " in the receive buffer; give separate buffers, or MPI_IN_PLACE for the send buffer "
              "where the own block lies in the receive buffer already");
    }
  }
}

namespace {

[[noreturn]] void refuse_overlap(const EdgePiece& one, const EdgePiece& other) {
  fail(Fault::buffer, "the receive blocks of entries ", std::min(one.entry, other.entry), " and ",
       std::max(one.entry, other.entry),
       " share memory: receive regions must not overlap. Give each a displacement of its own, not "
       "less than that of the block before it plus its count");
}

/// Returns whether no block begins before the end of the block before it.
bool ascend(const EdgeData& data) {
  std::uintptr_t last = 0;
  for (const EdgePiece& piece : data.pieces) {
    const auto [begin, end] = occupied(data, piece);
    if (begin == end) continue;
    if (begin < last) return false;
    last = end;
  }
  return true;
}

}  // namespace

void check_disjoint(const EdgeData& receive) {
  if (ascend(receive)) return;
  struct Block {
    std::uintptr_t begin, end;
    const EdgePiece* piece;
  };
  std::vector<Block> blocks;
  for (const EdgePiece& piece : receive.pieces) {
    const auto [begin, end] = occupied(receive, piece);
    if (begin != end) blocks.push_back({begin, end, &piece});
  }
  std::sort(blocks.begin(), blocks.end(),
            [](const Block& a, const Block& b) { return a.begin < b.begin; });
  for (std::size_t i = 1; i < blocks.size(); ++i) {
    // The blocks before it are disjoint, so the last of them ends last.
    if (blocks[i].begin < blocks[i - 1].end) {
      refuse_overlap(*blocks[i - 1].piece, *blocks[i].piece);
    }
  }
}

std::vector<mpi::KeptType> keep_types(EdgeData& data, bool without_gaps_too) {
  std::vector<mpi::KeptType> types;
  std::map<MPI_Datatype, MPI_Datatype> kept;
  for (EdgePiece& piece : data.pieces) {
    if (piece.type.contiguous && !without_gaps_too) continue;
    MPI_Datatype& copy = kept.try_emplace(piece.type.handle, MPI_DATATYPE_NULL).first->second;
    if (copy == MPI_DATATYPE_NULL) copy = types.emplace_back(piece.type.handle).handle();
    piece.type.handle = copy;
  }
  return types;
}

EdgeData sent_in_place(const EdgeData& receive) {
  EdgeData data = receive;
  data.in_place = true;
  return data;
}

std::byte* address(const void* buffer, std::int64_t offset) {
  // With MPI_BOTTOM, which may be null, the offset is the address: pointer arithmetic is not
  // possible.
  // NOLINTNEXTLINE(performance-no-int-to-ptr)
  return reinterpret_cast<std::byte*>(reinterpret_cast<std::uintptr_t>(buffer) +
                                      static_cast<std::uintptr_t>(offset));
}

void note_room_left() noexcept {
  log_once(LogLevel::info,
           "less has come in an exchange than its receive counts announce; the standard has both "
           "ends of an edge give the same count, but MPI's own messages allow it");
}

void check_fits(const EdgePiece& from, const EdgeData& receive, const EdgePiece& to) {
  const bool fits = receive.at_most ? from.bytes() <= to.bytes() : from.bytes() == to.bytes();
  if (fits && from.bytes() < to.bytes()) note_room_left();
  require(fits, Fault::count, "an edge of this rank to itself sends ", from.bytes(), " bytes, but ",
          to.bytes(), " are expected; both ends of an edge must give the same count");
}

void copy_piece(const EdgeData& send, const EdgePiece& from, const EdgeData& receive,
                const EdgePiece& to, MPI_Comm communicator) {
  check_fits(from, receive, to);
  const std::byte* source = address(send.buffer, from.offset);
  std::byte* target = address(receive.buffer, to.offset);
  if (from.type.contiguous) {
    mpi::unpack_bytes(to.type, source, target, from.bytes(), communicator);
  } else if (to.type.contiguous) {
    mpi::pack(from.type, source, from.count, target, communicator);
  } else {
    const MemoryBlock bytes(kind_of(source).staging(), static_cast<std::size_t>(from.bytes()));
    mpi::pack(from.type, source, from.count, bytes.data(), communicator);
    mpi::unpack_bytes(to.type, bytes.data(), target, from.bytes(), communicator);
  }
}

}  // namespace vicinal
