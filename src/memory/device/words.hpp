// Completion flags: words in pinned memory that kernels write when they complete. On an H100 the
// host sees a flag 1 to 1.5 us sooner than an event behind the kernel. Polling a flag does not call
// the driver.
#pragma once

#include <atomic>
#include <cstddef>

#include "memory/kind.hpp"

namespace vicinal::device {

/// Completion signal, with the layout that kernels.cu expects.
struct End {
  unsigned long long* word = nullptr;  ///< completion flag; null if an event signals
  unsigned* blocks = nullptr;
  unsigned long long number = 0;

  /// Returns whether the kernel has written its flag, and hence all its data.
  [[nodiscard]] bool is_told() const {
    return std::atomic_ref(*word).load(std::memory_order_acquire) == number;
  }
};
static_assert(sizeof(End) == 24);

/// The completion flags of a device, each with a counter of finished blocks; zero at first.
class Words {
 public:
  static constexpr std::size_t count = 64;
  /// Throws if memory cannot be allocated.
  explicit Words(MemoryKind& memory)
      : words_(memory.staging(), count * apart), blocks_(memory, count * sizeof(unsigned)) {}
  /// Returns the signal with flag `word` and a number that this flag has not had before.
  [[nodiscard]] End end(std::size_t word, unsigned long long number) const {
    return {reinterpret_cast<unsigned long long*>(words_.data() + word * apart),
            reinterpret_cast<unsigned*>(blocks_.data()) + word, number};
  }

 private:
  static constexpr std::size_t apart = 64;  ///< a cache line

  MemoryBlock words_;
  MemoryBlock blocks_;
};

}  // namespace vicinal::device
