// Words in pinned memory by which kernels tell the host that they are over. On an H100 a kernel is known to be over 1 to
// 1.5 us sooner by a word that it has written than by an event behind it, and a look at a word is no call of the driver's.
#pragma once

#include <atomic>
#include <cstddef>

#include "memory/kind.hpp"

namespace vicinal::device {

/// As kernels have it: see kernels.cu.
struct End {
  unsigned long long* word = nullptr;  ///< null where an event tells
  unsigned* blocks = nullptr;
  unsigned long long number = 0;

  /// Whether the kernel has written its word, and so all before it.
  [[nodiscard]] bool is_told() const {
    return std::atomic_ref(*word).load(std::memory_order_acquire) == number;
  }
};
static_assert(sizeof(End) == 24);

/// So many of a device's, each with what counts the blocks of its kernel: zeros at first.
class Words {
 public:
  static constexpr std::size_t count = 64;
  /// Throws where there is no memory for them.
  explicit Words(MemoryKind& memory)
      : words_(memory.staging(), count * apart), blocks_(memory, count * sizeof(unsigned)) {}
  /// By one of them, with a number that it has not told before.
  [[nodiscard]] End end(std::size_t word, unsigned long long number) const {
    return {reinterpret_cast<unsigned long long*>(words_.data() + word * apart),
            reinterpret_cast<unsigned*>(blocks_.data()) + word, number};
  }

 private:
  static constexpr std::size_t apart = 64;  ///< a line of the processor's cache

  MemoryBlock words_;
  MemoryBlock blocks_;
};

}  // namespace vicinal::device
