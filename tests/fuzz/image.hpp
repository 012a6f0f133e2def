// Buffers with their expected contents. Every byte of a message identifies its origin. Bytes
// outside messages (gaps of datatypes, space between pieces, guards) must stay unchanged.
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

/// One message of one execution: its sender, the sender's edge, and the call.
struct Origin {
  int rank = -1;
  int edge = 0;
  std::uint64_t call = 0;
};

/// Returns byte `i` of that message. In each group of eight, bytes 1 to 7 hold the call, the rank,
/// the edge and the group's number, to identify wrong data.
std::uint8_t byte_of(const Origin& origin, std::int64_t i);

/// A part of a buffer: elements of a type from an offset on.
struct Piece {
  Layouts layout;
  std::int64_t count = 0;
  MPI_Aint offset = 0;  ///< of the first element, relative to the base address

  [[nodiscard]] std::int64_t bytes() const { return count * layout->bytes(); }
  [[nodiscard]] MPI_Aint place(std::int64_t i) const { return offset + layout->place(i); }
};

/// Returns whether no two bytes of the pieces overlap.
bool are_apart(const std::vector<Piece>& pieces);

class Image {
 public:
  Image() = default;
  /// Allocates a buffer for the pieces, with a guard at either end.
  Image(const std::vector<Piece>& pieces, std::uint64_t pattern);
  /// Allocates a buffer of `bytes` bytes.
  Image(std::int64_t bytes, std::uint64_t pattern);

  /// Base address that is passed to the library; offsets are relative to it.
  [[nodiscard]] void* base() { return actual_.data() + zero_; }
  [[nodiscard]] const void* base() const { return actual_.data() + zero_; }
  /// Restores the initial contents.
  void clear();
  /// Sets both the actual and the expected value, before the library gets the buffer.
  void put(MPI_Aint place, std::uint8_t value);
  /// Sets the expected value.
  void expect(MPI_Aint place, std::uint8_t value);
  void put(const Piece& piece, const Origin& origin);
  void expect(const Piece& piece, const Origin& origin);
  /// Returns whether these bytes are as expected.
  [[nodiscard]] bool holds(MPI_Aint place, MPI_Aint bytes) const {
    const auto from = static_cast<std::ptrdiff_t>(zero_ + place);
    return std::equal(actual_.begin() + from, actual_.begin() + from + bytes,
                      expected_.begin() + from);
  }
  /// Returns a description of the first difference, or "".
  [[nodiscard]] std::string fault() const;
  /// A copy of the buffer, for another receiver; the position of its base; and the check of such a
  /// copy.
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
