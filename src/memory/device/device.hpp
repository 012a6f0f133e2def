// A device as jobs use it: its context, its private streams, its kernels. Set up when the first job needs it.
//
// Streams are private and do not wait for the program's, unless they are told to follow one: what a program's kernels
// write must be there when an exchange starts.
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
  /// Device `number` of a driver, untouched.
  Device(const Driver& driver, int number) : driver_(driver), number_(number) {}
  Device(const Device&) = delete;
  Device& operator=(const Device&) = delete;

  static constexpr unsigned threads_per_block = 256;
  /// More blocks than any device runs at a time gain nothing: threads go round.
  static constexpr std::size_t most_blocks = 4096;

  [[nodiscard]] const Driver& driver() const { return driver_; }
  [[nodiscard]] int number() const { return number_; }

  /// What the thread calls while this lives spoils no graph that any thread of the process captures.
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

  /// The device of the thread while this lives, and the one before again then. Sets the device up where nobody
  /// has, and throws a device fault where that cannot be done.
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
    int before_ = 0;  ///< AMD's
  };

  /// Calls what gives something back; its failures are of no interest any more.
  void give_back(const Entry<void*>& entry, void* what) noexcept;

  // For whoever has it as the current one.

  /// One of the private streams, in turn, for a job.
  [[nodiscard]] void* stream();
  /// The first of them: what was followed comes before what is put there.
  [[nodiscard]] void* first_stream() const { return streams_.front(); }
  /// Puts a move of words on a stream.
  void launch(Move move, void* stream);
  /// Puts zeros in the device's memory, and waits for that.
  void clear(std::byte* memory, std::size_t bytes);
  [[nodiscard]] Batches& batches() { return batches_; }
  /// Of those that are only asked whether they have happened.
  [[nodiscard]] void* new_event() const;
  /// One for what is awaited at once, which follows nobody.
  [[nodiscard]] void* set_up_stream() const { return streams_[stream_count]; }
  /// Jobs that begin from now on come after the work that is on this stream. Waits for nothing. Throws a request fault for one
  /// that is being captured.
  void follow(void* stream);
  /// Whether what is put on a stream now becomes part of a graph.
  [[nodiscard]] bool is_captured(void* stream) const;
  /// Waits until what was followed so far has been done.
  void await_followed();
  /// How often something was followed, and whether all of it up to some number is known to have been done.
  [[nodiscard]] std::uint64_t followed() const { return followed_count_.load(); }
  [[nodiscard]] bool has_done(std::uint64_t count) const { return done_.load() >= count; }
  void note_done(std::uint64_t count);
  /// Whether kernels can be had; where not, the log says why, and copies of the driver's do their work.
  [[nodiscard]] bool has_kernels();
  /// A kernel, of those in kernels.cu.
  [[nodiscard]] void* kernel(const std::string& name);
  /// Null where its code has none of that name.
  [[nodiscard]] void* find_kernel(const std::string& name);
  /// Runs one in the order of a stream, with threads for so many pieces of work.
  void launch(void* kernel, std::size_t threads, void** arguments, void* stream) const;
  /// Waits until a stream has done all that was put on it, whatever has failed before.
  void settle(void* stream) const noexcept;

 private:
  static constexpr std::size_t stream_count = 4;

  void connect();
  void make_streams();
  [[nodiscard]] std::string architecture() const;

  const Driver& driver_;
  const int number_;
  std::atomic<bool> is_set_up_ = false;
  std::atomic<unsigned> turn_ = 0;
  void* context_ = nullptr;
  std::array<void*, stream_count + 1> streams_{};
  std::atomic<std::uint64_t> followed_count_ = 0;
  std::atomic<std::uint64_t> done_ = 0;  ///< of those, the first ones that are known to be over

  Mutex mutex_;
  void* followed_ VICINAL_GUARDED_BY(mutex_) = nullptr;  ///< an event
  bool looked_for_kernels_ VICINAL_GUARDED_BY(mutex_) = false;
  void* module_ VICINAL_GUARDED_BY(mutex_) = nullptr;
  std::map<std::string, void*> kernels_ VICINAL_GUARDED_BY(mutex_);
  Batches batches_{*this};
};

}  // namespace vicinal::device
