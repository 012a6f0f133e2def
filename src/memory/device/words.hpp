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

/// One for each of so many batches of a device, and what counts the blocks of its kernel: zeros at first.
class Words {
 public:
  static constexpr std::size_t count = 64;
  /// Throws where there is no memory for them.
  explicit Words(MemoryKind& memory)
      : words_(memory.staging(), count * apart), blocks_(memory, count * sizeof(unsigned)) {}
  /// Of a batch, to be told by a number that none of its kernels has told before.
  [[nodiscard]] End end(std::size_t batch, unsigned long long number) const {
    return {reinterpret_cast<unsigned long long*>(words_.data() + batch * apart),
            reinterpret_cast<unsigned*>(blocks_.data()) + batch, number};
  }

 private:
  static constexpr std::size_t apart = 64;  ///< a line of the processor's cache

  MemoryBlock words_;
  MemoryBlock blocks_;
};

}  // namespace vicinal::device
