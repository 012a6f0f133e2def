// What kernels are asked for together: a launch costs more than most copies of a halo, of which a rank has one for each
// neighbour. So what begins between two calls of launch() is one kernel, and over when all of it is.
//
// A small kernel tells by a word (words.hpp) that it is over; a large one, a copy of the driver's, and one that somebody's
// stream waits for, by an event. Any thread may call any of this, and whoever calls need not have the device as the current one.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <memory>
#include <vector>

#include "base/guarded.hpp"
#include "memory/device/driver.hpp"
#include "memory/device/move.hpp"
#include "memory/device/words.hpp"

namespace vicinal::device {

class Device;

class Batches {
 public:
  /// As many as fit into the arguments of a kernel.
  static constexpr std::size_t most = 64;
  /// As many as kernel copy_batch_few has: its arguments are there 1 us sooner than those of copy_batch (H100).
  static constexpr std::size_t few = 4;
  /// Kernels of more blocks tell by an event. So many have a multiprocessor each, on most devices, and fences as they end that hold
  /// nobody up; more have that much to do that it does not matter how they tell.
  static constexpr std::size_t most_telling_blocks = 64;
  /// A word that never comes, since its kernel has failed, is asked the driver for at each so-manieth look. A kernel of 8 us is
  /// looked at some 20 times, so few are asked for; and a failure is known after some 10 us.
  static constexpr unsigned looks_per_question = 32;
  /// How many threads move a piece: as many as execute together.
  static constexpr unsigned team = 32;
  /// What kernels take.
  template <std::size_t most_moves>
  struct Moves {
    unsigned count = 0;
    std::array<Move, most_moves> all{};
  };

  explicit Batches(Device& device) : device_(device) {}
  static_assert(sizeof(Move) == 56 && sizeof(Moves<most>) == 8 + 56 * most);
  Batches(const Batches&) = delete;
  Batches& operator=(const Batches&) = delete;

  /// Some moves that are launched together.
  struct Batch {
    Moves<most> moves;
    std::array<void*, most> events{};  ///< of those that have not left before it was launched
    std::size_t users = 0;             ///< that have not seen it over
    void* stream = nullptr;
    std::shared_ptr<const Words> words;  ///< kept while the kernel may write to them
    int word = 0;                        ///< which of them, if there are any
    End end;
    void* event = nullptr;  ///< one of the events, which tells that it is over where no word does
    unsigned looks = 0;
    bool launched = false;
    bool over = false;
    std::exception_ptr fault;
  };

  /// What kernels write to who tell by a word; null where they cannot, and events tell. Whoever adds moves keeps them as long as
  /// that, so that nothing is allocated when one is launched. Throws what the driver fails with.
  [[nodiscard]] std::shared_ptr<const Words> words(MemoryKind& memory);

  struct Place {
    Batch* batch = nullptr;
    std::size_t number = 0;
  };
  /// Adds a move of that many threads' work. The event is its owner's, and stays as long as it takes part.
  Place add(Move move, std::size_t threads, void* event);
  /// Puts what has been added on a stream.
  void launch() noexcept;
  /// Whether it is over. Throws what it has failed with; whoever has got an answer but false has nothing to do with it any more.
  bool poll(Batch& batch);
  /// Has what is put on a stream from now on come after it, which is launched for that.
  void have_stream_await(Batch& batch, void* stream);
  /// Leaves it before it is known to be over; it touches the move's memory no more.
  void leave(Place place) noexcept;

 private:
  Batch& open_batch() VICINAL_REQUIRES(mutex_);
  void launch_open() noexcept VICINAL_REQUIRES(mutex_);
  void reclaim_words() VICINAL_REQUIRES(mutex_);
  void give_back_word(Batch& batch) VICINAL_REQUIRES(mutex_);
  void put(Batch& batch) VICINAL_REQUIRES(mutex_);
  void launch_kernel(Batch& batch) VICINAL_REQUIRES(mutex_);
  /// Whether it has ended, well or not. What a word does not tell is asked the driver for now and then, or at once.
  bool look_at(Batch& batch, bool ask_at_once) noexcept VICINAL_REQUIRES(mutex_);
  bool ask_driver(Batch& batch) VICINAL_REQUIRES(mutex_);
  /// Waits until its stream has done all that was put on it, whatever has failed before.
  void settle(Batch& batch) noexcept VICINAL_REQUIRES(mutex_);
  /// That of the only one which has not left.
  static const Move& only(const Batch& batch);
  void forget(Batch& batch) noexcept VICINAL_REQUIRES(mutex_);

  Device& device_;
  Mutex mutex_;
  std::vector<std::unique_ptr<Batch>> idle_ VICINAL_GUARDED_BY(mutex_);
  std::vector<std::unique_ptr<Batch>> busy_ VICINAL_GUARDED_BY(mutex_);
  Batch* open_ VICINAL_GUARDED_BY(mutex_) = nullptr;  ///< of the busy ones
  std::weak_ptr<const Words> words_ VICINAL_GUARDED_BY(mutex_);
  std::uint64_t free_words_ VICINAL_GUARDED_BY(mutex_) = ~std::uint64_t{0};  ///< bits
  static_assert(Words::count == 64);
  /// Kernels that tell by a word, up to now: no two by the same number.
  unsigned long long told_ VICINAL_GUARDED_BY(mutex_) = 0;
};

}  // namespace vicinal::device
