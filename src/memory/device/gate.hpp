// A gate of a device's streams: words in pinned memory, which streams write and wait for by operations of the driver's that need
// no kernel and no thread of its own. Whoever progresses looks at the one and writes the other; by a third it is known that no
// stream waits any more.
#pragma once

#include <atomic>
#include <cstdint>

#include "memory/kind.hpp"

namespace vicinal::device {

class Device;

class Gate final : public StreamGate {
 public:
  Gate(Device& device, MemoryKind& pinned);
  Gate(const Gate&) = delete;
  Gate& operator=(const Gate&) = delete;
  ~Gate() override;

  void ask_from(std::uintptr_t stream) override;
  bool was_asked() override;
  bool hold(std::uintptr_t stream, std::uint32_t number) override;
  void open() override;
  [[nodiscard]] bool is_captured() const override { return captured_; }

  /// Whether some stream of the program's may wait at a gate, now or when a graph is launched: what waits for such a stream may wait for an
  /// exchange.
  [[nodiscard]] static bool any_may_hold();

 private:
  using Word = std::atomic<std::uint32_t>;

  /// Whether the stream is being captured. Throws a request fault where the gate is part of a graph already, and it is not.
  bool look_at(void* stream);
  void become_captured();
  void note_whether_it_may_hold();
  [[nodiscard]] bool is_passed() const;
  [[nodiscard]] bool await_passing() const;
  [[nodiscard]] Word& word(std::size_t number) const;
  [[nodiscard]] Word& asked() const { return word(0); }
  [[nodiscard]] Word& opened() const { return word(1); }
  [[nodiscard]] Word& passed() const { return word(2); }

  Device& device_;
  MemoryBlock words_;
  bool captured_ = false;
  bool holds_ = false;          ///< a stream, as far as is known
  bool may_hold_ = false;       ///< counted among those that do, or will
  bool tells_passing_ = true;   ///< each stream that has been held
  const void* held_ = nullptr;  ///< the last of these streams
  std::uint32_t asks_ = 0;   ///< that were put on streams; in a graph the words are 1 and 0 instead
  std::uint32_t heard_ = 0;  ///< of these
  std::uint32_t openings_ = 0;
  std::uint32_t held_for_ = 0;  ///< the last of them that a stream waits for
};

}  // namespace vicinal::device
