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
/// Looks at whether a stream has asked, until the device is asked whether it has failed: a call of the driver's.
constexpr unsigned looks_per_question = 4096;
/// How long a stream may take for the next of its steps.
constexpr auto patience = std::chrono::seconds(1);

/// How many streams may wait at a time. A stream that waits occupies one of the queues by which a process's streams make progress, and
/// if all are occupied, what was to end their waiting does not begin. CUDA has 8 unless it is told otherwise, and 2 under MPS, which a
/// process is not told of. Kernels that are put on idle streams are put into free queues, other operations into any: measured on an
/// H200 with 1 of 2, 3 of 4 and 3 of 8 queues taken, all kernels on 20 streams went on, and with 7 of 8 all but two.
int most_waiting() {
  constexpr int least = 2;
  const char* const told = std::getenv("CUDA_DEVICE_MAX_CONNECTIONS");
  return (told != nullptr ? std::clamp(std::atoi(told), 1, 32) : least) / 2;
}

std::atomic<int> holding = 0;   ///< gates at which a stream waits
std::atomic<int> captured = 0;  ///< gates that are part of graphs
std::atomic<int> may_hold = 0;  ///< gates at which one does or will wait
std::atomic<int> putting = 0;   ///< threads that act on there being none of these (NoWaitBegins)

}  // namespace

Gate::Gate(Device& device, MemoryKind& pinned, std::shared_ptr<const Words> telling)
    : device_(device), words_(pinned, word_count * apart), telling_(std::move(telling)) {
  for (std::size_t i = 0; i < word_count; ++i) new (words_.data() + i * apart) Word(0);
}

Gate::~Gate() {
  {
    const Lock lock(mutex_);
    if (holds_) --holding;
    if (captured_) --captured;
    if (may_hold_) --may_hold;
  }
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

bool Gate::is_passed() const {
  const Lock lock(mutex_);
  if (captured_) return opened().load(std::memory_order_acquire) == 0;
  return passed().load(std::memory_order_acquire) == holds_so_far_;
}

bool Gate::any_may_hold() { return may_hold.load() > 0; }

bool Gate::is_capturing(std::uintptr_t stream) const {
  const Device::Current current(device_);
  return device_.is_captured(reinterpret_cast<void*>(stream));
}

void Gate::note_state() {
  const bool now = captured_ || holds_ || asks_ != heard_;
  if (now != may_hold_) may_hold += now ? 1 : -1;
  may_hold_ = now;
}

Gate::Word& Gate::word(std::size_t number) const {
  return *std::launder(reinterpret_cast<Word*>(words_.data() + number * apart));
}

bool Gate::look_at(void* stream) {
  const bool now = device_.is_captured(stream);
  require(now || !is_captured(), Fault::request,
          "a request that is part of a graph was put on a stream that is not being captured; "
          "launch the graph, or make another request");
  return now;
}

void Gate::become_captured() {
  require(asks_ == heard_ && static_cast<std::int32_t>(openings_ - held_for_) >= 0, Fault::request,
          "a request was to become part of a graph while an execution of it was under way; wait "
          "for it first");
  require(most_waiting() > 0, Fault::unsupported,
          "exchanges in a graph need a queue of the GPU's beside that of the graph, and the "
          "environment's CUDA_DEVICE_MAX_CONNECTIONS is 1; set it to more, up to 32");
  asked().store(0);
  opened().store(0);
  captured_ = true;
  if (++captured <= most_waiting()) return;
  log_line(LogLevel::warn, [](std::ostream& line) {
    line << captured
         << " exchanges are part of graphs. If so many are under way at once, they may wait for "
            "each other for ever: set CUDA_DEVICE_MAX_CONNECTIONS to twice as many, up to 32";
  });
}

void Gate::ask_from(std::uintptr_t stream) {
  auto* const asking = reinterpret_cast<void*>(stream);
  const Device::Current current(device_);
  const Lock order(device_.order());
  const bool in_graph = look_at(asking);
  require(!in_graph || is_captured() || await_passing(), Fault::request,
          "a request was to become part of a graph while a stream waited for an execution of it; "
          "wait for that first");
  std::uint32_t value = 1;
  bool has_become_captured = false;
  {
    const Lock lock(mutex_);
    if (in_graph && !captured_) {
      become_captured();
      has_become_captured = true;
    }
    if (!captured_) value = ++asks_;
    note_state();
  }
  // Not with the lock: a stream that is full has its caller wait, perhaps for a gate to be opened.
  try {
    device_.driver().call(device_.driver().calls.write_word, asking, static_cast<void*>(&asked()),
                          value, 0U);
  } catch (...) {
    const Lock lock(mutex_);
    if (has_become_captured) {
      leave_graph();
    } else if (!captured_) {
      --asks_;
    }
    note_state();
    throw;
  }
}

/// Of which it has become no part.
void Gate::leave_graph() {
  asked().store(asks_);
  opened().store(openings_);
  captured_ = false;
  --captured;
}

bool Gate::was_asked() {
  if (hear()) return true;
  // Of a graph nobody knows how often it is launched.
  if (is_captured() || ++looks_ < looks_per_question) return false;
  try {
    look_for_failure();
  } catch (...) {
    const Lock lock(mutex_);
    ++heard_;
    note_state();
    throw;
  }
  looks_ = 0;
  return false;
}

void Gate::look_for_failure() {
  const Driver& driver = device_.driver();
  const auto ask = [&] {
    const Device::Current current(device_);
    static_cast<void>(driver.is_done(driver.calls.query_stream, device_.set_up_stream()));
  };
  try {
    return ask();
  } catch (const Error&) {
    // It may be something else that has failed before, told of once; a device that fails again is lost.
  }
  ask();
}

bool Gate::hear() {
  const Lock lock(mutex_);
  if (captured_) {
    // Once more only after what comes now, for which the stream waits.
    if (asked().load(std::memory_order_acquire) == 0) return false;
    asked().store(0, std::memory_order_release);
    return true;
  }
  const std::uint32_t so_often = asked().load(std::memory_order_acquire);
  if (static_cast<std::int32_t>(so_often - heard_) <= 0) return false;
  ++heard_;
  note_state();
  return true;
}

bool Gate::hold(std::uintptr_t stream, std::uint32_t number) {
  auto* const held = reinterpret_cast<void*>(stream);
  const Device::Current current(device_);
  const Lock order(device_.order());
  if (look_at(held)) {
    hold_in_graph(held);
    return true;
  }
  const std::optional<std::uint32_t> hold = reserve(held, number);
  if (!hold) return false;
  // Whoever has seen that no stream may wait puts what that allows before this one does; whoever looks now sees that it may.
  while (putting.load() > 0) std::this_thread::yield();
  const Calls& calls = device_.driver().calls;
  try {
    device_.driver().call(calls.await_word, held, static_cast<void*>(&opened()), number, at_least);
  } catch (...) {
    take_back();
    throw;
  }
  // The stream is held, whatever becomes of this.
  const Status status = calls.write_word.function(held, &passed(), *hold, 0U);
  if (status != success) tells_passing_ = false;
  return true;
}

void Gate::hold_in_graph(void* stream) {
  require(is_captured(), Fault::request,
          "the end of an execution was to be part of a graph of which its beginning is none");
  const Driver& driver = device_.driver();
  auto* const word = static_cast<void*>(&opened());
  driver.call(driver.calls.await_word, stream, word, 1U, equal);
  driver.call(driver.calls.write_word, stream, word, 0U, 0U);
}

std::optional<std::uint32_t> Gate::reserve(const void* stream, std::uint32_t number) {
  const Lock lock(mutex_);
  // The last one's word that it has passed would be lost; and if it has not, it still looks at these.
  if (stream != held_ && passed().load(std::memory_order_acquire) != holds_so_far_)
    return std::nullopt;
  if (!holds_ && static_cast<std::int32_t>(openings_ - number) < 0) {
    if (++holding + captured > most_waiting()) {
      --holding;
      return std::nullopt;
    }
    holds_ = true;
  }
  held_ = stream;
  held_before_ = std::exchange(held_for_, number);
  note_state();
  return ++holds_so_far_;
}

void Gate::take_back() noexcept {
  const Lock lock(mutex_);
  held_for_ = held_before_;
  --holds_so_far_;
  if (holds_ && static_cast<std::int32_t>(openings_ - held_for_) >= 0) {
    holds_ = false;
    --holding;
  }
  note_state();
}

void Gate::open() {
  const Lock lock(mutex_);
  if (captured_) return opened().store(1, std::memory_order_release);
  opened().store(++openings_, std::memory_order_release);
  if (holds_ && static_cast<std::int32_t>(openings_ - held_for_) >= 0) {
    holds_ = false;
    --holding;
  }
  note_state();
}

}  // namespace vicinal::device

namespace vicinal {

NoWaitBegins::NoWaitBegins() { ++device::putting; }
NoWaitBegins::~NoWaitBegins() { --device::putting; }

}  // namespace vicinal
