// What kernels are asked for together: a launch costs more than most copies of a halo, of which a rank has one for each
// neighbour. So what begins between two calls of launch() is one kernel, and over when all of it is.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <memory>
#include <vector>

#include "base/guarded.hpp"
#include "memory/device/driver.hpp"

namespace vicinal::device {

class Device;

/// One copy, as kernel copy_batch of kernels.cu has it.
struct Move {
  const std::byte* from = nullptr;
  std::byte* to = nullptr;
  const std::byte* sources = nullptr;  ///< lists in the device's memory, or null; or the pieces
  const std::byte* targets = nullptr;
  unsigned long long count = 0;  ///< of words, or pieces
  unsigned parts = 0;            ///< a word is as many parts as two to the power of this
  unsigned first_block = 0;      ///< of the kernel's, from which on blocks move this
  std::uint8_t width = 1;        ///< of a part, in bytes
  enum class Form : std::uint8_t { words32, words64, pieces };
  Form form = Form::words32;

  /// Whether a copy of the driver's would do.
  [[nodiscard]] bool is_plain() const {
    return sources == nullptr && targets == nullptr && form != Form::pieces && parts == 0;
  }
};

class Batches {
 public:
  /// As many as fit into the arguments of a kernel.
  static constexpr std::size_t most = 64;
  /// How many threads move a piece: as many as execute together.
  static constexpr unsigned team = 32;
  /// The argument of copy_batch.
  struct Moves {
    unsigned count = 0;
    std::array<Move, most> all{};
  };

  explicit Batches(Device& device) : device_(device) {}
  static_assert(sizeof(Move) == 56 && sizeof(Moves) == 8 + 56 * most);
  Batches(const Batches&) = delete;
  Batches& operator=(const Batches&) = delete;

  /// Some moves that are launched together.
  struct Batch {
    Moves moves;
    std::array<void*, most> events{};  ///< of those that have not left before it was launched
    std::size_t users = 0;             ///< that have not seen it over
    void* event = nullptr;             ///< one of these, which tells that it is over
    void* stream = nullptr;
    bool launched = false;
    bool over = false;
    std::exception_ptr fault;
  };

  // For whoever has the device as the current one.

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
  void launch_kernel(Moves& moves, void* stream) VICINAL_REQUIRES(mutex_);
  /// That of the only one which has not left.
  static const Move& only(const Batch& batch);
  void forget(Batch& batch) noexcept VICINAL_REQUIRES(mutex_);

  Device& device_;
  Mutex mutex_;
  std::vector<std::unique_ptr<Batch>> idle_ VICINAL_GUARDED_BY(mutex_);
  std::vector<std::unique_ptr<Batch>> busy_ VICINAL_GUARDED_BY(mutex_);
  Batch* open_ VICINAL_GUARDED_BY(mutex_) = nullptr;  ///< of the busy ones
};

}  // namespace vicinal::device
