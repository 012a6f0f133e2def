// A device as jobs use it: its context, private streams and kernels. Set up when the first job
// needs it.
//
// The private streams do not wait for the program's streams, unless they follow one. The writes of
// a program's kernels must be complete when an exchange starts.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>

#include "base/guarded.hpp"
#include "memory/device/batch.hpp"
#include "memory/device/driver.hpp"

namespace vicinal::device {

class Device {
 public:
  /// Represents device `number` of a driver; does not initialize it.
  Device(const Driver& driver, int number) : driver_(driver), number_(number) {}
  Device(const Device&) = delete;
  Device& operator=(const Device&) = delete;

  static constexpr unsigned threads_per_block = 256;
  /// More blocks than a device runs at once gain nothing, as threads loop over the work.
  static constexpr std::size_t most_blocks = 4096;

  [[nodiscard]] const Driver& driver() const { return driver_; }
  [[nodiscard]] int number() const { return number_; }

  /// During its lifetime, this thread's calls do not invalidate a graph that any thread captures.
  class RelaxedCapture {
   public:
    explicit RelaxedCapture(const Driver& driver);
    RelaxedCapture(const RelaxedCapture&) = delete;
    RelaxedCapture& operator=(const RelaxedCapture&) = delete;
    ~RelaxedCapture();

   private:
    const Driver& driver_;
    int mode_;
    bool is_relaxed_ = false;
  };

  /// Makes the device current for the thread during its lifetime, then restores the previous one.
  /// Sets the device up on first use; throws a device fault if that fails.
  class Current {
   public:
    explicit Current(Device& device);
    Current(const Current&) = delete;
    Current& operator=(const Current&) = delete;
    ~Current();

   private:
    void enter();
    void leave() noexcept;

    RelaxedCapture relaxed_;
    Device& device_;
    int before_ = 0;  ///< for AMD
  };

  /// Calls a function that releases a resource; ignores failures.
  void give_back(const Entry<void*>& entry, void* what) noexcept;

  // The following functions require that the device is current.

  /// Returns one of the private streams for a job, round-robin.
  [[nodiscard]] void* stream();
  /// Returns the first of them. Work put on it runs after the followed streams' work.
  [[nodiscard]] void* first_stream() const { return streams_.front(); }
  /// Puts a move of words on a stream.
  void launch(Move move, void* stream);
  /// Zeroes device memory, and waits for completion.
  void clear(std::byte* memory, std::size_t bytes);
  [[nodiscard]] Batches& batches() { return batches_; }
  /// Creates an event without timing.
  [[nodiscard]] void* new_event() const;
  /// Returns a stream for work that is awaited at once; it follows no other stream.
  [[nodiscard]] void* set_up_stream() const { return streams_[stream_count]; }
  /// Makes jobs begun from now on wait for the work now on `stream`. Does not wait itself. Throws a
  /// request fault if the stream is being captured.
  void follow(void* stream);
  /// Returns whether the stream is being captured into a graph.
  [[nodiscard]] bool is_captured(void* stream) const;
  /// Waits for the work of all calls of follow() so far.
  void await_followed();
  /// Number of calls of follow(), and whether the work of the first `count` of them is known to be
  /// complete.
  [[nodiscard]] std::uint64_t followed() const { return followed_count_.load(); }
  [[nodiscard]] bool has_done(std::uint64_t count) const { return done_.load() >= count; }
  void note_done(std::uint64_t count);
  /// Returns whether kernels are available. If not, logs why; the driver's copies replace them.
  [[nodiscard]] bool has_kernels();
  /// Returns a kernel of kernels.cu.
  [[nodiscard]] void* kernel(const std::string& name);
  /// As kernel(), but null if the code has none of that name.
  [[nodiscard]] void* find_kernel(const std::string& name);
  /// Launches a kernel on a stream, with `threads` threads, rounded up to blocks and at most
  /// most_blocks blocks.
  void launch(void* kernel, std::size_t threads, void** arguments, void* stream) const;
  /// Waits until a stream has finished all work, even after failures.
  void settle(void* stream) const noexcept;

 private:
  static constexpr std::size_t stream_count = 4;

  void connect();
  void make_streams();
  [[nodiscard]] std::string architecture() const;

  const Driver& driver_;
  const int number_;
  std::atomic<bool> is_set_up_ = false;
  std::atomic<unsigned> next_stream_ = 0;
  void* context_ = nullptr;
  std::array<void*, stream_count + 1> streams_{};
  std::atomic<std::uint64_t> followed_count_ = 0;
  std::atomic<std::uint64_t> done_ = 0;  ///< leading calls of follow() known to be complete

  Mutex mutex_;
  void* followed_ VICINAL_GUARDED_BY(mutex_) = nullptr;  ///< an event
  bool looked_for_kernels_ VICINAL_GUARDED_BY(mutex_) = false;
  void* module_ VICINAL_GUARDED_BY(mutex_) = nullptr;
  std::map<std::string, void*> kernels_ VICINAL_GUARDED_BY(mutex_);
  Batches batches_{*this};
};

}  // namespace vicinal::device
