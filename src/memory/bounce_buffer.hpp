// Bounce buffers: host memory that replaces buffers which neither the processor nor MPI reaches,
// such as a GPU's, during one call. Data to send are copied into it before the call continues;
// received data are copied back before the call completes.
//
// Pinned memory takes longer to allocate than most calls last, and jobs take time to prepare. So a
// pool keeps both for later calls: calls in a loop with the same layout find theirs ready.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "base/guarded.hpp"
#include "base/runs.hpp"
#include "memory/kind.hpp"

namespace vicinal {

/// A range of a user's buffer.
struct UserBytes {
  std::byte* begin = nullptr;
  std::int64_t bytes = 0;
};

/// Thread-safe.
class BounceBufferPool {
 public:
  /// Maximum number of idle entries; beyond it the pool frees the one that has been idle longest.
  static constexpr std::size_t most_idle = 8;

  BounceBufferPool() { idle_.reserve(most_idle + 1); }
  BounceBufferPool(const BounceBufferPool&) = delete;
  BounceBufferPool& operator=(const BounceBufferPool&) = delete;
  ~BounceBufferPool() = default;

 private:
  friend class BounceBuffer;

  /// Host memory, and the jobs that copy between it and user memory laid out as `runs`.
  struct Kit {
    MemoryKind* kind = nullptr;
    Sides inside;
    bool is_apart = false;
    std::vector<CopyRun> runs;
    MemoryBlock block;
    std::vector<std::unique_ptr<MemoryJob>> jobs;  ///< one for all runs; if is_apart, one per run

    [[nodiscard]] bool is_for(const Kit& other) const {
      return kind == other.kind && inside.from == other.inside.from &&
             inside.to == other.inside.to && is_apart == other.is_apart && runs == other.runs;
    }
  };
  /// Returns a kit with the wanted jobs and a block of at least `bytes` bytes. Prefers an idle kit
  /// for the same runs, then any idle kit with a block large enough.
  std::unique_ptr<Kit> take(Kit wanted, std::size_t bytes);
  std::unique_ptr<Kit> find(const Kit& wanted, std::size_t bytes);
  void give_back(std::unique_ptr<Kit> kit) noexcept;

  Mutex mutex_;
  /// Most recently returned last.
  std::vector<std::unique_ptr<Kit>> idle_ VICINAL_GUARDED_BY(mutex_);
};

class BounceBuffer {
 public:
  enum class Direction : std::uint8_t { fetched, brought_back };
  /// Location of the ranges: all in one buffer, or each possibly in an allocation of its own.
  enum class From : std::uint8_t { one_buffer, anywhere };

  /// Prepares a bounce buffer for `stretches`, ranges in memory of `kind`; at least one is not
  /// empty. Each byte has one place, even if ranges overlap. Touching ranges become one copy.
  /// Throws if the memory cannot be allocated.
  BounceBuffer(BounceBufferPool& pool, MemoryKind& kind, Direction direction, From from,
               std::vector<UserBytes> stretches);
  BounceBuffer(const BounceBuffer&) = delete;
  BounceBuffer& operator=(const BounceBuffer&) = delete;
  /// Stops copying before it returns.
  ~BounceBuffer();

  /// Address in the bounce buffer for `address`, which lies in one of the ranges; valid up to the
  /// end of that range.
  [[nodiscard]] std::byte* at(const std::byte* address) const;

  /// Begins to copy. begin() and poll() throw the error of the copy; nothing is in progress then.
  void begin();
  /// Returns whether the copy, if any was begun, has completed. Never waits.
  [[nodiscard]] bool poll();
  /// Copies, and calls `meanwhile` until the copy has completed.
  void copy(void (*meanwhile)() noexcept);

 private:
  void drop() noexcept;

  BounceBufferPool& pool_;
  Direction direction_;
  std::byte* lowest_ = nullptr;  ///< lowest address; runs are relative to it
  std::unique_ptr<BounceBufferPool::Kit> kit_;
  std::vector<MemoryJob*> in_progress_;
};

}  // namespace vicinal
