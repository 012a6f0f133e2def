// A kind of memory for tests, which simulates a device's. Its allocations lie on pages that neither
// the program nor MPI can access; only the kind's jobs can, through a second mapping. A job does
// all its work at its end, after zero or more polls. The number of polls varies, so jobs begun
// together finish in another order. Code that reads or overwrites too early gets wrong values; code
// that bypasses the jobs crashes.
//
// Its jobs also work on host memory: tests that treat host memory as this kind run through them.
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

  /// Accessible address of the bytes at `address`.
  [[nodiscard]] std::byte* reach(const std::byte* address) const;
  /// No job finishes until let_go().
  void hold() { held_.store(true); }
  void let_go() { held_.store(false); }
  /// Makes the next job that would finish fail instead.
  void fail_next() { fails_.store(true); }
  /// Number of jobs that are begun and not finished.
  [[nodiscard]] int in_progress() const { return in_progress_.load(); }

 private:
  template <class Runs>
  class Delayed;
  struct Mapping {
    std::size_t bytes = 0;
    std::byte* touchable = nullptr;
  };

  /// Address in the second mapping; null if `address` is not of this kind.
  [[nodiscard]] std::byte* touchable(const std::byte* address) const;

  std::atomic<bool> held_ = false;
  std::atomic<bool> fails_ = false;
  std::atomic<int> in_progress_ = 0;
  std::atomic<std::uint32_t> begun_ = 0;
  mutable Mutex mutex_;
  std::map<const std::byte*, Mapping> mappings_
      VICINAL_GUARDED_BY(mutex_);   ///< by address handed out
  std::atomic<int> allocated_ = 0;  ///< number of allocations: at 0, queries take no lock
};

[[nodiscard]] DelayedMemory& delayed_memory();

}  // namespace vicinal
