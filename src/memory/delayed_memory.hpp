// A kind of memory for tests, which stands for a device's. What is allocated in it lies on pages that neither the
// program nor MPI can touch: only the kind's jobs can, through a second mapping. A job does all
// of its work at the end, some polls after it was begun; how many differs from one to the next, so that
// those begun together finish in another order. So whoever looks too early, or overwrites too early,
// gets wrong values; and whoever goes round the jobs ends.
//
// Its jobs serve the host's memory as well: tests that have it treated as of this kind run through them.
#pragma once

#include <atomic>
#include <cstdint>
#include <map>

#include "base/guarded.hpp"
#include "memory/kind.hpp"

namespace vicinal {

class DelayedMemory final : public MemoryKind {
 public:
  [[nodiscard]] const char* name() const override { return "delayed"; }
  [[nodiscard]] bool holds(const void* address) const {
    return touchable(static_cast<const std::byte*>(address)) != nullptr;
  }
  [[nodiscard]] bool is_reachable() const override { return false; }
  [[nodiscard]] MemoryKind& staging() override { return host_memory(); }
  [[nodiscard]] std::byte* allocate(std::size_t bytes) override;
  void release(std::byte* memory) noexcept override;
  [[nodiscard]] std::unique_ptr<MemoryJob> prepare_copy(std::span<const CopyRun> runs,
                                                        std::size_t element_bytes,
                                                        Sides inside) override;
  [[nodiscard]] std::unique_ptr<MemoryJob> prepare_reduction(std::span<const CopyRun> runs,
                                                             std::size_t element_bytes, ReduceOp op,
                                                             ElementType type,
                                                             Sides inside) override;

  /// Where the bytes at an address can be touched.
  [[nodiscard]] std::byte* reach(const std::byte* address) const;
  /// Until let_go(), nothing finishes.
  void hold() { held_.store(true); }
  void let_go() { held_.store(false); }
  /// The next job to finish fails instead.
  void fail_next() { fails_.store(true); }
  /// How many are begun and not finished.
  [[nodiscard]] int under_way() const { return under_way_.load(); }

 private:
  template <class Runs>
  class Delayed;
  struct Mapping {
    std::size_t bytes = 0;
    std::byte* touchable = nullptr;
  };

  /// Its counterpart in the second mapping; null where it is not of this kind.
  [[nodiscard]] std::byte* touchable(const std::byte* address) const;

  std::atomic<bool> held_ = false;
  std::atomic<bool> fails_ = false;
  std::atomic<int> under_way_ = 0;
  std::atomic<std::uint32_t> begun_ = 0;
  mutable Mutex mutex_;
  std::map<const std::byte*, Mapping> mappings_
      VICINAL_GUARDED_BY(mutex_);   ///< by what was handed out
  std::atomic<int> allocated_ = 0;  ///< how many: whoever asks of other memory takes no lock
};

[[nodiscard]] DelayedMemory& delayed_memory();

}  // namespace vicinal
