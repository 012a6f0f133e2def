// One copy, with the layout that kernels.cu expects.
#pragma once

#include <cstddef>
#include <cstdint>

namespace vicinal::device {

struct Move {
  const std::byte* from = nullptr;
  std::byte* to = nullptr;
  const std::byte* sources = nullptr;  ///< list of offsets on the device, or null; or the pieces
  const std::byte* targets = nullptr;
  unsigned long long count = 0;  ///< number of words or pieces
  unsigned parts = 0;            ///< log2 of the number of parts per word
  unsigned first_block = 0;      ///< first of the kernel's blocks that execute this move
  std::uint8_t width = 1;        ///< bytes per part
  enum class Form : std::uint8_t { words32, words64, pieces };
  Form form = Form::words32;

  /// Returns whether one copy by the driver can replace it.
  [[nodiscard]] bool is_plain() const {
    return sources == nullptr && targets == nullptr && form != Form::pieces && parts == 0;
  }
};

/// Returns the largest power of two, up to `most`, that divides both addresses.
inline std::int64_t common_alignment(std::int64_t most, const std::byte* from,
                                     const std::byte* to) {
  const auto both = reinterpret_cast<std::uintptr_t>(from) | reinterpret_cast<std::uintptr_t>(to);
  while (both % static_cast<std::uintptr_t>(most) != 0) most /= 2;
  return most;
}

/// Returns the move of bytes that are contiguous on both sides.
inline Move plain_move(const std::byte* from, std::byte* to, std::size_t bytes) {
  Move move{from, to, nullptr, nullptr, 0};
  std::int64_t part = common_alignment(16, from, to);
  while (bytes % static_cast<std::size_t>(part) != 0) part /= 2;
  move.width = static_cast<std::uint8_t>(part);
  move.count = bytes / static_cast<std::size_t>(part);
  return move;
}

}  // namespace vicinal::device
