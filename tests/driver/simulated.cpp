#include "simulated.hpp"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <map>
#include <mutex>
#include <sstream>
#include <utility>
#include <vector>

#include "base/scramble.hpp"
#include "memory/device/kernel_source.hpp"

namespace simulated {

namespace {

struct Event {
  long recorded = 0;  ///< how often
  long happened = 0;
  Status status = success;
};

struct Task {
  int polls_left = 0;
  std::function<Status()> work;  ///< or else an event
  Event* event = nullptr;
  long awaited = 0;  ///< the event is not recorded, but awaited until it has happened so often
};

struct Stream {
  std::deque<Task> tasks;
  Status status = success;  ///< the first fault since an event has told
};

struct State {
  std::recursive_mutex mutex;
  std::vector<Stream*> streams;
  std::map<std::string, long> numbers;
  std::uint64_t put = 0;
  std::uint64_t polls = 0;
  bool initialised = false;
};

/// Numbers that a program gives which cannot set any: "open_to_mpi=1 hold=1".
State* with_numbers_of_environment() {
  auto* const it = new State;
  const char* const given = std::getenv("DRIVER_DOUBLE");
  std::istringstream words(given != nullptr ? given : "");
  for (std::string word; words >> word;) {
    const std::size_t end = word.find('=');
    it->numbers[word.substr(0, end)] = std::stol(word.substr(end + 1));
  }
  return it;
}

State& state() {
  static auto* const it = with_numbers_of_environment();
  return *it;
}

/// Whether its first task waits for another stream.
bool is_held_up(const Stream& stream) {
  const Task& first = stream.tasks.front();
  return first.awaited > 0 && first.event->happened < first.awaited;
}

void do_first(Stream& stream);

/// Has other streams go on until this one can.
void release(Stream& stream) {
  while (is_held_up(stream)) {
    const Event* const awaited = stream.tasks.front().event;
    for (Stream* other : state().streams) {
      const auto brings = [&](const Task& task) {
        return task.event == awaited && task.awaited == 0;
      };
      if (other != &stream && std::any_of(other->tasks.begin(), other->tasks.end(), brings)) {
        do_first(*other);
      }
    }
  }
}

void do_first(Stream& stream) {
  release(stream);
  Task task = std::move(stream.tasks.front());
  stream.tasks.pop_front();
  if (task.awaited > 0) return;
  if (task.event != nullptr) {
    ++task.event->happened;
    task.event->status = std::exchange(stream.status, success);
    return;
  }
  const Status status = task.work();
  // What fails as a test wants it is no misuse.
  if (status != success && status != launch_failed) count("misuses");
  if (stream.status == success) stream.status = status;
}

/// Some streams by a poll, so that they overtake each other.
void go_on() {
  if (number("hold") != 0) return;
  for (Stream* stream : state().streams) {
    if (vicinal::scramble(state().polls++) % 2 != 0) continue;
    while (!stream->tasks.empty() && !is_held_up(*stream) &&
           stream->tasks.front().polls_left-- <= 0) {
      do_first(*stream);
    }
  }
}

/// Null is the default one.
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
    case misaligned_address: return "misaligned address";
    default: return "unspecified launch failure";
  }
}

long number(const std::string& name) {
  const Lock lock(mutex());
  return state().numbers[name];
}

void count(const std::string& name, long change) {
  const Lock lock(mutex());
  state().numbers[name] += change;
}

Status enter(Status failure) {
  const Lock lock(mutex());
  count("calls");
  return number("calls") == number("fail_at") ? failure : success;
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
  const auto polls = static_cast<int>(vicinal::scramble(state().put++) % 3);
  stream_of(stream).tasks.push_back({polls, std::move(work)});
}

Status record(void* event, void* stream) {
  const Lock lock(mutex());
  auto* const it = static_cast<Event*>(event);
  ++it->recorded;
  stream_of(stream).tasks.push_back({0, nullptr, it});
  return success;
}

Status have_stream_await(void* stream, void* event) {
  const Lock lock(mutex());
  auto* const it = static_cast<Event*>(event);
  stream_of(stream).tasks.push_back({0, nullptr, it, it->recorded});
  return success;
}

Status query(void* event) {
  const Lock lock(mutex());
  go_on();
  auto* const it = static_cast<Event*>(event);
  return happened(*it) ? std::exchange(it->status, success) : not_ready;
}

Status await_event(void* event) {
  const Lock lock(mutex());
  auto* const it = static_cast<Event*>(event);
  for (Stream* stream : state().streams) {
    const auto has = [it](const Task& task) { return task.event == it && task.awaited == 0; };
    while (std::any_of(stream->tasks.begin(), stream->tasks.end(), has)) do_first(*stream);
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
  const Lock lock(mutex());
  Stream& it = stream_of(stream);
  while (!it.tasks.empty()) do_first(it);
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

long driver_double_get(const char* name) { return simulated::number(name); }

void driver_double_set(const char* name, long value) {
  const simulated::Lock lock(simulated::mutex());
  simulated::state().numbers[name] = value;
}
