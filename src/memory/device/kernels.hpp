// The kernels of kernels.cu, as their callers know them: names, the layout of one copy, and the
// limit of their direct access to host memory.
#pragma once

#include <cstddef>
#include <cstdint>

#include "memory/kernels.hpp"

namespace vicinal::device {

/// Largest part that kernels move at a time, in bytes.
inline constexpr std::int64_t largest_part = 16;

/// An element type in kernel names.
struct ValueType {
  ElementType type;
  const char* name;       ///< "" for types without an order
  const char* summed_as;  ///< integers as unsigned, complex values as two real ones
  int bytes;              ///< per summed value
};
[[nodiscard]] const ValueType& value_type(ElementType type);

/// Kernel that can set a completion flag; not all architectures have it.
inline constexpr const char* telling_kernel = "copy_batch_few";

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

/// Up to this many bytes a kernel moves directly to and from pinned host memory. More data are
/// gathered or scattered on the GPU, and copied. On an H100 kernels moved 14 to 24 GB/s and copies
/// 52 GB/s, but a copy takes 7 us longer (docs/gpu.md).
inline constexpr std::int64_t most_by_kernel = std::int64_t{256} << 10;

}  // namespace vicinal::device
