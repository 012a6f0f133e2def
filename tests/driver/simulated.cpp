#include "simulated.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <cstring>
#include <deque>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

#include "base/scramble.hpp"
#include "memory/device/kernel_source.hpp"

namespace simulated {

namespace {

struct Event {
  long recorded = 0;  ///< number of times
  long happened = 0;
  Status status = success;
};

struct Task {
  int polls_left = 0;
  std::function<Status()> work;  ///< null for an event
  Event* event = nullptr;
  long awaited = 0;  ///< if > 0, waits until the event has happened this often
};

struct Stream {
  std::deque<Task> tasks;
  Status status = success;  ///< the first failure not yet reported by an event
  bool is_captured = false;
};

struct State {
  std::recursive_mutex mutex;
  std::vector<Stream*> streams;
  std::uint64_t put = 0;
  std::uint64_t polls = 0;
  bool initialised = false;
  int capturing = 0;  ///< number of streams
};

State& state() {
  static auto* const it = new State;
  return *it;
}

/// Returns whether the stream's first task waits for another stream.
bool is_held_up(const Stream& stream) {
  const Task& first = stream.tasks.front();
  return first.awaited > 0 && first.event->happened < first.awaited;
}

void do_first(Stream& stream);

/// Runs the first task, or tasks that it waits for; returns whether any task ran.
bool step(Stream& stream) {
  if (!is_held_up(stream)) {
    do_first(stream);
    return true;
  }
  const Event* const awaited = stream.tasks.front().event;
  for (Stream* other : state().streams) {
    const auto brings = [&](const Task& task) {
      return task.event == awaited && task.awaited == 0;
    };
    if (other != &stream && std::any_of(other->tasks.begin(), other->tasks.end(), brings) &&
        step(*other)) {
      return true;
    }
  }
  return false;
}

/// Runs tasks of a stream while `is_due()`. The stream may need calls of other threads to continue.
template <class Due>
void go_through(Stream& stream, std::unique_lock<std::recursive_mutex>& lock, Due is_due) {
  while (is_due()) {
    if (step(stream)) continue;
    lock.unlock();
    std::this_thread::yield();
    lock.lock();
  }
}

void do_first(Stream& stream) {
  Task task = std::move(stream.tasks.front());
  stream.tasks.pop_front();
  if (task.awaited > 0) return;
  if (task.event != nullptr) {
    ++task.event->happened;
    task.event->status = std::exchange(stream.status, success);
    return;
  }
  const Status status = task.work();
  // Failures requested by a test are no misuse.
  if (status != success && status != launch_failed) count("misuses");
  if (stream.status == success) stream.status = status;
}

/// Advances about half of the streams per poll, so that streams overtake each other.
void go_on() {
  if (number("hold") != 0 || number("lost") != 0) return;
  for (Stream* stream : state().streams) {
    if (vicinal::scramble(state().polls++) % 2 != 0) continue;
    while (!stream->tasks.empty() && !is_held_up(*stream) &&
           stream->tasks.front().polls_left-- <= 0) {
      do_first(*stream);
    }
  }
}

/// Null is the default stream.
Stream& stream_of(void* stream) {
  if (stream != nullptr) return *static_cast<Stream*>(stream);
  static Stream* const standard = [] {
    state().streams.push_back(new Stream);
    return state().streams.back();
  }();
  return *standard;
}

bool happened(const Event& event) { return event.happened == event.recorded; }

}  // namespace

std::recursive_mutex& mutex() { return state().mutex; }

const char* text(int status) {
  switch (status) {
    case success: return "no error";
    case invalid_value: return "invalid argument";
    case out_of_memory: return "out of memory";
    case not_initialised: return "initialization error";
    case invalid_image: return "device kernel image is invalid";
    case invalid_context: return "invalid device context";
    case not_found: return "named symbol not found";
    case not_ready: return "device not ready";
    case illegal_address: return "an illegal memory access was encountered";
    case not_supported: return "operation not supported";
    case stream_capture_unsupported: return "operation not permitted when stream is capturing";
    case misaligned_address: return "misaligned address";
    default: return "unspecified launch failure";
  }
}

Status enter(Status failure) {
  const Lock lock(mutex());
  if (state().capturing > 0 && capture_mode() != relaxed_capture) {
    count("misuses");
    return stream_capture_unsupported;
  }
  if (number("lost") != 0) return illegal_address;
  count("calls");
  return count_down("fail_in") || number("calls") == number("fail_at") ? failure : success;
}

void initialise() {
  const Lock lock(mutex());
  state().initialised = true;
}
bool is_initialised() {
  const Lock lock(mutex());
  return state().initialised;
}

Status create_stream(void** stream) {
  const Lock lock(mutex());
  state().streams.push_back(new Stream);
  *stream = state().streams.back();
  return success;
}

Status create_event(void** event) {
  const Lock lock(mutex());
  count("events");
  *event = new Event;
  return success;
}

Status destroy_event(void* event) {
  const Lock lock(mutex());
  count("events", -1);
  if (!happened(*static_cast<Event*>(event))) count("misuses");
  delete static_cast<Event*>(event);
  return success;
}

void put(void* stream, std::function<Status()> work) {
  const Lock lock(mutex());
  Stream& it = stream_of(stream);
  if (it.is_captured) return;
  it.tasks.push_back({static_cast<int>(vicinal::scramble(state().put++) % 3), std::move(work)});
}

int& capture_mode() {
  static thread_local int mode = 0;
  return mode;
}

bool is_captured(void* stream) {
  const Lock lock(mutex());
  return stream_of(stream).is_captured;
}

Status begin_capture(void* stream) {
  const Lock lock(mutex());
  if (is_captured(stream)) return invalid_value;
  stream_of(stream).is_captured = true;
  ++state().capturing;
  return success;
}

Status end_capture(void* stream, void** graph) {
  const Lock lock(mutex());
  if (!is_captured(stream)) return invalid_value;
  *graph = nullptr;
  stream_of(stream).is_captured = false;
  --state().capturing;
  return success;
}

Status record(void* event, void* stream) {
  const Lock lock(mutex());
  // Work that waits for it would also become part of the graph.
  if (is_captured(stream)) return stream_capture_unsupported;
  auto* const it = static_cast<Event*>(event);
  ++it->recorded;
  stream_of(stream).tasks.push_back({0, nullptr, it});
  return success;
}

Status have_stream_await(void* stream, void* event) {
  const Lock lock(mutex());
  if (is_captured(stream)) return stream_capture_unsupported;
  auto* const it = static_cast<Event*>(event);
  stream_of(stream).tasks.push_back({0, nullptr, it, it->recorded});
  return success;
}

Status query(void* event) {
  const Lock lock(mutex());
  if (count_down("fail_query")) return launch_failed;
  go_on();
  auto* const it = static_cast<Event*>(event);
  return happened(*it) ? std::exchange(it->status, success) : not_ready;
}

Status await_event(void* event) {
  std::unique_lock lock(mutex());
  auto* const it = static_cast<Event*>(event);
  for (std::size_t i = 0; i < state().streams.size(); ++i) {
    Stream& stream = *state().streams[i];
    const auto has = [it](const Task& task) { return task.event == it && task.awaited == 0; };
    go_through(stream, lock,
               [&] { return std::any_of(stream.tasks.begin(), stream.tasks.end(), has); });
  }
  return std::exchange(it->status, success);
}

Status query_stream(void* stream) {
  const Lock lock(mutex());
  for (int i = 0; i < 4; ++i) go_on();
  Stream& it = stream_of(stream);
  return it.tasks.empty() ? std::exchange(it.status, success) : not_ready;
}

Status await_stream(void* stream) {
  std::unique_lock lock(mutex());
  Stream& it = stream_of(stream);
  go_through(it, lock, [&] { return !it.tasks.empty(); });
  return std::exchange(it.status, success);
}

std::string compiled(const std::string& source, const std::string& options) {
  const Lock lock(mutex());
  count("compilations");
  const bool known = options.find("sm_99") == std::string::npos;
  if (source != vicinal::device::kernel_source_text || !known) return {};
  return "code of the double for " + options;
}

bool is_code(const void* image) {
  constexpr std::array<unsigned char, 4> nvccs = {0x50, 0xED, 0x55, 0xBA};
  if (std::memcmp(image, nvccs.data(), nvccs.size()) == 0) return number("takes_precompiled") != 0;
  return std::strncmp(static_cast<const char*>(image), "code of the double", 18) == 0;
}

}  // namespace simulated
