// Batches of copies. A kernel launch costs more than most copies of a halo, and a rank has one copy
// per neighbor. So all copies begun between two calls of launch() run in one kernel, and complete
// together.
//
// A small kernel signals completion by a completion flag: a word in pinned memory that it writes
// when it completes. On an H100 the host sees a flag 1 to 1.5 us sooner than an event behind the
// kernel. Polling a flag does not call the driver. A large kernel, a driver's copy, and a kernel
// that a stream waits for signal by an event. The class is thread-safe; the caller need not make
// the device current.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <memory>
#include <vector>

#include "base/guarded.hpp"
#include "memory/device/driver.hpp"
#include "memory/device/kernels.hpp"
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

class Device;

class Batches {
 public:
  /// Maximum number of moves that fit into the arguments of a kernel.
  static constexpr std::size_t most = 64;
  /// Number of moves of kernel copy_batch_few. Its arguments arrive 1 us sooner than those of
  /// copy_batch (H100).
  static constexpr std::size_t few = 4;
  /// Kernels of more blocks signal by an event. On most devices this many blocks each have a
  /// multiprocessor, so their final fences delay nothing. Larger kernels run so long that the kind
  /// of signal does not matter.
  static constexpr std::size_t most_telling_blocks = 64;
  /// Number of polls of a flag per query of the driver; a failed kernel never sets its flag. A
  /// kernel of 8 us is polled some 20 times, so queries are rare, and a failure is known after some
  /// 10 us.
  static constexpr unsigned looks_per_question = 32;
  /// Number of threads that move a piece: a warp.
  static constexpr unsigned team = 32;
  /// Argument of the kernels.
  template <std::size_t most_moves>
  struct Moves {
    unsigned count = 0;
    std::array<Move, most_moves> all{};
  };

  explicit Batches(Device& device) : device_(device) {}
  static_assert(sizeof(Move) == 56 && sizeof(Moves<most>) == 8 + 56 * most);
  Batches(const Batches&) = delete;
  Batches& operator=(const Batches&) = delete;

  /// Moves that are launched together.
  struct Batch {
    Moves<most> moves;
    std::array<void*, most> events{};  ///< of the moves that had not left before the launch
    std::size_t users = 0;             ///< number of users that have not seen it complete
    void* stream = nullptr;
    std::shared_ptr<const Words> words;  ///< kept while the kernel may write to them
    int word = 0;                        ///< index of the completion flag, if there is one
    End end;
    void* event = nullptr;  ///< one of `events`; signals completion if no flag does
    unsigned looks = 0;
    bool launched = false;
    bool over = false;
    std::exception_ptr fault;
  };

  /// Returns the completion flags; null if the kernels cannot set flags, and events signal. A
  /// caller that adds moves keeps the pointer meanwhile, so that launching allocates nothing.
  /// Throws the driver's error.
  [[nodiscard]] std::shared_ptr<const Words> words(MemoryKind& memory);

  struct Place {
    Batch* batch = nullptr;
    std::size_t number = 0;
  };
  /// Adds a move that is work for `threads` threads. The caller owns the event, and keeps it while
  /// it uses the batch.
  Place add(Move move, std::size_t threads, void* event);
  /// Puts the added moves on a stream.
  void launch() noexcept;
  /// Returns whether the batch has completed. Throws its error. After true or an error, the caller
  /// must not use the batch again.
  bool poll(Batch& batch);
  /// Makes later work on `stream` wait for the batch; launches the batch if necessary.
  void have_stream_await(Batch& batch, void* stream);
  /// Leaves a batch before it is known to be complete. The batch no longer accesses the memory of
  /// this move.
  void leave(Place place) noexcept;

 private:
  Batch& open_batch() VICINAL_REQUIRES(mutex_);
  void launch_open() noexcept VICINAL_REQUIRES(mutex_);
  void reclaim_words() VICINAL_REQUIRES(mutex_);
  void give_back_word(Batch& batch) VICINAL_REQUIRES(mutex_);
  void put(Batch& batch) VICINAL_REQUIRES(mutex_);
  void launch_kernel(Batch& batch) VICINAL_REQUIRES(mutex_);
  /// Returns whether the batch has ended, successfully or not. If the flag is not set, asks the
  /// driver: at once if `ask_at_once`, else occasionally.
  bool look_at(Batch& batch, bool ask_at_once) noexcept VICINAL_REQUIRES(mutex_);
  bool ask_driver(Batch& batch) VICINAL_REQUIRES(mutex_);
  /// Waits until its stream has finished all work, even after failures.
  void settle(Batch& batch) noexcept VICINAL_REQUIRES(mutex_);
  /// Returns the only move that has not left.
  static const Move& only(const Batch& batch);
  void forget(Batch& batch) noexcept VICINAL_REQUIRES(mutex_);

  Device& device_;
  Mutex mutex_;
  std::vector<std::unique_ptr<Batch>> idle_ VICINAL_GUARDED_BY(mutex_);
  std::vector<std::unique_ptr<Batch>> busy_ VICINAL_GUARDED_BY(mutex_);
  Batch* open_ VICINAL_GUARDED_BY(mutex_) = nullptr;  ///< one of the busy ones
  std::weak_ptr<const Words> words_ VICINAL_GUARDED_BY(mutex_);
  std::uint64_t free_words_ VICINAL_GUARDED_BY(mutex_) = ~std::uint64_t{0};  ///< a bit per flag
  static_assert(Words::count == 64);
  /// Number of kernels with a flag so far; each writes its own number.
  unsigned long long told_ VICINAL_GUARDED_BY(mutex_) = 0;
};

}  // namespace vicinal::device
