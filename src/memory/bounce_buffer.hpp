// What lies in memory that neither the processor nor MPI reaches, a GPU's say, stood in for by memory of the host as long as a
// call lasts. Of what is sent the stand-in is fetched before the call goes on, what has come is brought back before it is over.
//
// Pinned memory takes longer to allocate than most calls last, and jobs take time to prepare, so a pool keeps what the last
// stand-ins had: a loop's calls, whose pieces lie alike each time, find theirs ready.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "base/guarded.hpp"
#include "base/runs.hpp"
#include "memory/kind.hpp"

namespace vicinal {

/// A stretch of a user's buffer.
struct UserBytes {
  std::byte* begin = nullptr;
  std::int64_t bytes = 0;
};

/// Any thread may use it.
class StandInPool {
 public:
  /// How many that nobody uses are kept; of more, those go first that have been kept for longest.
  static constexpr std::size_t most_idle = 8;

  StandInPool() { idle_.reserve(most_idle + 1); }
  StandInPool(const StandInPool&) = delete;
  StandInPool& operator=(const StandInPool&) = delete;
  ~StandInPool() = default;

 private:
  friend class StandIn;

  /// Memory of the host, and what copies between it and memory that lies as some runs say.
  struct Kit {
    MemoryKind* kind = nullptr;
    Sides inside;
    bool is_apart = false;
    std::vector<CopyRun> runs;
    MemoryBlock block;
    std::vector<std::unique_ptr<MemoryJob>> jobs;  ///< one for all runs, or apart, one for each

    [[nodiscard]] bool is_for(const Kit& other) const {
      return kind == other.kind && inside.from == other.inside.from &&
             inside.to == other.inside.to && is_apart == other.is_apart && runs == other.runs;
    }
  };
  /// With a block of so many bytes and jobs: one for such runs, else one whose block has room, else a new one.
  std::unique_ptr<Kit> take(Kit wanted, std::size_t bytes);
  std::unique_ptr<Kit> find(const Kit& wanted, std::size_t bytes);
  void give_back(std::unique_ptr<Kit> kit) noexcept;

  Mutex mutex_;
  std::vector<std::unique_ptr<Kit>> idle_ VICINAL_GUARDED_BY(mutex_);  ///< the last one last
};

class StandIn {
 public:
  enum class Way : std::uint8_t { fetched, brought_back };
  /// Whether all stretches lie in one buffer, or each may be an allocation of its own.
  enum class From : std::uint8_t { one_buffer, anywhere };

  /// Of some stretches, at least one of them with bytes, that lie in memory of a kind. Each byte has one place, however many have it, and those
  /// that touch each other lie side by side, so that they are one copy. Throws where no memory can be had for them.
  StandIn(StandInPool& pool, MemoryKind& kind, Way way, From from,
          std::vector<UserBytes> stretches);
  StandIn(const StandIn&) = delete;
  StandIn& operator=(const StandIn&) = delete;
  /// Sees to it that nothing is copied any more.
  ~StandIn();

  /// Where it has what lies at an address of a stretch, up to the end of that.
  [[nodiscard]] std::byte* at(const std::byte* address) const;

  /// Begins to copy. Both throw what that has failed with; nothing is under way then.
  void begin();
  /// Whether what was begun, if anything, is over. Never waits.
  [[nodiscard]] bool poll();
  /// Copies, and calls `meanwhile` until that is over.
  void copy(void (*meanwhile)() noexcept);

 private:
  void drop() noexcept;

  StandInPool& pool_;
  Way way_;
  std::byte* lowest_ = nullptr;  ///< of the addresses, from which runs count
  std::unique_ptr<StandInPool::Kit> kit_;
  std::vector<MemoryJob*> under_way_;
};

}  // namespace vicinal
