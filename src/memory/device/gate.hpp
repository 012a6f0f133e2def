// A gate of a device's streams: words in pinned memory, which streams write and wait for by operations of the driver's that need
// no kernel and no thread of its own. Whoever progresses looks at the one and writes the other; by a third it is known that no
// stream waits any more.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>

#include "base/guarded.hpp"
#include "memory/device/words.hpp"
#include "memory/kind.hpp"

namespace vicinal::device {

class Device;

class Gate final : public StreamGate {
 public:
  /// `telling`: by which kernels tell that they are over, beside a stream that waits.
  Gate(Device& device, MemoryKind& pinned, std::shared_ptr<const Words> telling);
  Gate(const Gate&) = delete;
  Gate& operator=(const Gate&) = delete;
  ~Gate() override;

  void ask_from(std::uintptr_t stream) override;
  bool was_asked() override;
  bool hold(std::uintptr_t stream, std::uint32_t number) override;
  void open() override;
  [[nodiscard]] bool is_capturing(std::uintptr_t stream) const override;
  [[nodiscard]] bool is_captured() const override {
    const Lock lock(mutex_);
    return captured_;
  }

  /// Whether some stream of the program's may wait at a gate, now or when a graph is launched: what waits for such a stream may wait for an
  /// exchange.
  [[nodiscard]] static bool any_may_hold();

 private:
  using Word = std::atomic<std::uint32_t>;

  [[nodiscard]] bool hear();
  /// Throws what the device fails with, whatever it is asked.
  void look_for_failure();
  /// Whether the stream is being captured. Throws a request fault where the gate is part of a graph already, and it is not.
  bool look_at(void* stream);
  void hold_in_graph(void* stream);
  /// Counts it among those that hold a stream, where it will, unless there would be too many, or another stream has not passed. Which
  /// of its holds this is.
  [[nodiscard]] std::optional<std::uint32_t> reserve(const void* stream, std::uint32_t number);
  /// Of the last reservation.
  void take_back() noexcept;
  void leave_graph() VICINAL_REQUIRES(mutex_);
  void become_captured() VICINAL_REQUIRES(mutex_);
  void note_state() VICINAL_REQUIRES(mutex_);
  [[nodiscard]] bool is_passed() const;
  [[nodiscard]] bool await_passing() const;
  [[nodiscard]] Word& word(std::size_t number) const;
  [[nodiscard]] Word& asked() const { return word(0); }
  [[nodiscard]] Word& opened() const { return word(1); }
  [[nodiscard]] Word& passed() const { return word(2); }

  Device& device_;
  MemoryBlock words_;
  std::shared_ptr<const Words> telling_;
  unsigned looks_ = 0;          ///< in vain, since the device was asked
  bool tells_passing_ = true;   ///< each stream that has been held
  const void* held_ = nullptr;  ///< the last of these streams
  mutable Mutex mutex_;
  bool captured_ VICINAL_GUARDED_BY(mutex_) = false;
  bool holds_ VICINAL_GUARDED_BY(mutex_) = false;     ///< a stream, as far as is known
  bool may_hold_ VICINAL_GUARDED_BY(mutex_) = false;  ///< counted among those that do, or will
  /// That were put on streams, and of these, those that were heard; in a graph the words are 1 and 0 instead.
  std::uint32_t asks_ VICINAL_GUARDED_BY(mutex_) = 0;
  std::uint32_t heard_ VICINAL_GUARDED_BY(mutex_) = 0;
  std::uint32_t openings_ VICINAL_GUARDED_BY(mutex_) = 0;
  std::uint32_t held_for_ VICINAL_GUARDED_BY(mutex_) = 0;  ///< the last that a stream waits for
  std::uint32_t held_before_ VICINAL_GUARDED_BY(mutex_) = 0;
  /// Which streams tell that they have passed.
  std::uint32_t holds_so_far_ VICINAL_GUARDED_BY(mutex_) = 0;
};

}  // namespace vicinal::device
