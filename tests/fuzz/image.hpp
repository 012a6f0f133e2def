// Buffers and what must be in them: every byte of a message says where it comes from, and what no message
// covers (gaps of datatypes, room between pieces, guards around the whole) must stay as it was.
#pragma once

#include <mpi.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "layout.hpp"
#include "random.hpp"
#include "trial.hpp"

namespace fuzz {

/// One message of one execution: who sends it, along which of its edges, in which call.
struct Origin {
  int rank = -1;
  int edge = 0;
  std::uint64_t call = 0;
};

/// Byte `i` of that message. Each eight of them hold, from the second on, the call, the rank, the edge
/// and their own number, so that a wrong one can be recognized.
std::uint8_t byte_of(const Origin& origin, std::int64_t i);

/// A part of a buffer: elements of a type from somewhere on.
struct Piece {
  Layouts layout;
  std::int64_t count = 0;
  MPI_Aint offset = 0;  ///< of the first element, from the base address

  [[nodiscard]] std::int64_t bytes() const { return count * layout->bytes(); }
  [[nodiscard]] MPI_Aint place(std::int64_t i) const { return offset + layout->place(i); }
};

/// Whether no two bytes of the pieces lie in one place.
bool are_apart(const std::vector<Piece>& pieces);

class Image {
 public:
  Image() = default;
  /// A buffer that has room for the pieces, with a guard at either end.
  Image(const std::vector<Piece>& pieces, std::uint64_t pattern);
  /// A buffer of so many bytes.
  Image(std::int64_t bytes, std::uint64_t pattern);

  /// What is handed to the library, which offsets are from.
  [[nodiscard]] void* base() { return actual_.data() + zero_; }
  [[nodiscard]] const void* base() const { return actual_.data() + zero_; }
  /// As if newly made, with nothing in it.
  void clear();
  /// Both what is there and what must be: before the library has it.
  void put(MPI_Aint place, std::uint8_t value);
  /// What must be there afterwards.
  void expect(MPI_Aint place, std::uint8_t value);
  void put(const Piece& piece, const Origin& origin);
  void expect(const Piece& piece, const Origin& origin);
  /// Whether so many bytes from there are as they must be.
  [[nodiscard]] bool holds(MPI_Aint place, MPI_Aint bytes) const {
    const auto from = static_cast<std::ptrdiff_t>(zero_ + place);
    return std::equal(actual_.begin() + from, actual_.begin() + from + bytes,
                      expected_.begin() + from);
  }
  /// "" where all is as it must be.
  [[nodiscard]] std::string fault() const;
  /// A copy of the whole, for somebody else to receive in; where its base is; the same check of it.
  [[nodiscard]] std::vector<std::uint8_t> copy() const { return actual_; }
  [[nodiscard]] MPI_Aint zero() const { return zero_; }
  [[nodiscard]] std::string fault_of(const std::vector<std::uint8_t>& bytes) const;

 private:
  static constexpr MPI_Aint guard = 64;
  void allocate(MPI_Aint lowest, MPI_Aint end);

  std::uint64_t pattern_ = 0;
  MPI_Aint zero_ = 0;
  std::vector<std::uint8_t> actual_, expected_;
};

}  // namespace fuzz
