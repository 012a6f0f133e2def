#include "memory/device/gate.hpp"

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <new>
#include <ostream>
#include <thread>
#include <utility>

#include "base/error.hpp"
#include "base/log.hpp"
#include "memory/device/device.hpp"

namespace vicinal::device {

namespace {

/// Of waiting for a word: that it is at least, cyclically, or just so much.
constexpr unsigned at_least = 0;
constexpr unsigned equal = 1;

constexpr std::size_t word_count = 3;
/// They are not neighbours, for streams and the host write them.
constexpr std::size_t apart = 128;
/// How long a stream may take for the next of its steps.
constexpr auto patience = std::chrono::seconds(1);

/// How many streams of a process make progress beside each other. A stream that waits occupies one of these queues, and if all are
/// occupied, what was to end their waiting does not begin. CUDA has 8 unless it is told otherwise, and 2 under MPS, which a process
/// is not told of (measured on an H100: 7 waiting streams and 1 let others go on, 8 and 2 do not; priorities change nothing).
int queues() {
  constexpr int least = 2;
  const char* const told = std::getenv("CUDA_DEVICE_MAX_CONNECTIONS");
  return told != nullptr ? std::clamp(std::atoi(told), 1, 32) : least;
}

std::atomic<int> holding = 0;   ///< gates at which a stream waits
std::atomic<int> captured = 0;  ///< gates that are part of graphs
std::atomic<int> may_hold = 0;  ///< gates at which one does or will wait

}  // namespace

Gate::Gate(Device& device, MemoryKind& pinned)
    : device_(device), words_(pinned, word_count * apart) {
  for (std::size_t i = 0; i < word_count; ++i) new (words_.data() + i * apart) Word(0);
}

Gate::~Gate() {
  if (holds_) --holding;
  if (captured_) --captured;
  if (may_hold_) --may_hold;
  if (!await_passing()) new MemoryBlock(std::move(words_));
}

/// Whether all streams have looked at words that are open; where one does not for long, its device or its program has failed.
bool Gate::await_passing() const {
  const auto until = std::chrono::steady_clock::now() + patience;
  while (!is_passed()) {
    if (!tells_passing_ || std::chrono::steady_clock::now() > until) return false;
    std::this_thread::yield();
  }
  return true;
}

bool Gate::any_may_hold() { return may_hold.load(std::memory_order_relaxed) > 0; }

void Gate::note_whether_it_may_hold() {
  const bool now = captured_ || holds_ || asks_ != heard_;
  if (now != may_hold_) may_hold += now ? 1 : -1;
  may_hold_ = now;
}

bool Gate::is_passed() const {
  if (captured_) return opened().load(std::memory_order_acquire) == 0;
  return passed().load(std::memory_order_acquire) == held_for_;
}

Gate::Word& Gate::word(std::size_t number) const {
  return *std::launder(reinterpret_cast<Word*>(words_.data() + number * apart));
}

bool Gate::look_at(void* stream) {
  const bool now = device_.is_captured(stream);
  require(now || !captured_, Fault::request,
          "a request that is part of a graph was put on a stream that is not being captured; "
          "launch the graph, or make another request");
  return now;
}

void Gate::become_captured() {
  require(asks_ == heard_ && openings_ >= held_for_ && await_passing(), Fault::request,
          "a request was to become part of a graph while an execution of it was under way, or a "
          "stream waited for it; wait for both first");
  require(queues() > 1, Fault::unsupported,
          "exchanges in a graph need a queue of the GPU's beside that of the graph, and the "
          "environment's CUDA_DEVICE_MAX_CONNECTIONS is 1; set it to more, up to 32");
  asked().store(0);
  opened().store(0);
  captured_ = true;
  if (++captured < queues()) return;
  log_line(LogLevel::warn, [](std::ostream& line) {
    line << captured
         << " exchanges are part of graphs. If so many are under way at once, they may wait "
         << "for each other for ever: set CUDA_DEVICE_MAX_CONNECTIONS to more than that, up to 32";
  });
}

void Gate::ask_from(std::uintptr_t stream) {
  auto* const asking = reinterpret_cast<void*>(stream);
  const Device::Current current(device_);
  if (look_at(asking) && !captured_) become_captured();
  const std::uint32_t value = captured_ ? 1 : asks_ + 1;
  device_.driver().call(device_.driver().calls.write_word, asking, static_cast<void*>(&asked()),
                        value, 0U);
  if (!captured_) ++asks_;
  note_whether_it_may_hold();
}

bool Gate::was_asked() {
  if (captured_) {
    // Once more only after what comes now, for which the stream waits.
    if (asked().load(std::memory_order_acquire) == 0) return false;
    asked().store(0, std::memory_order_release);
    return true;
  }
  if (static_cast<std::int32_t>(asked().load(std::memory_order_acquire) - heard_) <= 0)
    return false;
  ++heard_;
  note_whether_it_may_hold();
  return true;
}

bool Gate::hold(std::uintptr_t stream, std::uint32_t number) {
  auto* const held = reinterpret_cast<void*>(stream);
  const Device::Current current(device_);
  const Calls& calls = device_.driver().calls;
  auto* const word = static_cast<void*>(&opened());
  if (look_at(held)) {
    require(captured_, Fault::request,
            "the end of an execution was to be part of a graph of which its beginning is none");
    device_.driver().call(calls.await_word, held, word, 1U, equal);
    device_.driver().call(calls.write_word, held, word, 0U, 0U);
    return true;
  }
  if (holds_ && held != held_) return false;
  if (!holds_ && ++holding >= queues()) {
    --holding;
    return false;
  }
  holds_ = true;
  held_ = held;
  note_whether_it_may_hold();
  device_.driver().call(calls.await_word, held, word, number, at_least);
  held_for_ = number;
  // The stream is held, whatever becomes of this.
  auto* const passing = static_cast<void*>(&passed());
  const Status status = calls.write_word.function(held, passing, number, 0U);
  if (status != success) tells_passing_ = false;
  return true;
}

void Gate::open() {
  if (captured_) return opened().store(1, std::memory_order_release);
  opened().store(++openings_, std::memory_order_release);
  if (holds_ && openings_ >= held_for_) {
    holds_ = false;
    --holding;
    note_whether_it_may_hold();
  }
}

}  // namespace vicinal::device
