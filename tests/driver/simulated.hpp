// A GPU's driver as far as the library uses one, without a GPU: what the entry points of both vendors' interfaces do
// (cuda.cpp, hip.cpp).
//
// - Memory of a device lies on pages that the program cannot touch, unless a test opens them to MPI. Copies and kernels
//   reach it by a second mapping. Another process that opens it has the same pages; who frees it meanwhile has misused it.
// - What is put on a stream is done when somebody polls or waits, after some polls, more or fewer from one to
//   the next; streams overtake each other. Who does not wait sees what was there before.
// - Kernels are those of the library, compiled for the host. Their threads run in another order than their numbers'. A word that a
//   kernel tells the host is there when its stream has come to it, as anything else; one that comes too early, or not at all, is a misuse.
// - Calls can be told to fail. What is allocated is counted, and so is what was used wrongly.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <mutex>
#include <string>

namespace simulated {

/// The answers of both interfaces, where they agree.
enum Status : int {
  success = 0,
  invalid_value = 1,
  out_of_memory = 2,
  not_initialised = 3,
  invalid_image = 200,
  invalid_context = 201,
  not_found = 500,
  not_ready = 600,
  illegal_address = 700,
  already_registered = 712,
  misaligned_address = 716,
  launch_failed = 719,
  not_supported = 801,
  stream_capture_unsupported = 900,
};
const char* text(int status);

inline constexpr int devices = 2;

/// Of all that the double knows: one call at a time.
std::recursive_mutex& mutex();
using Lock = std::lock_guard<std::recursive_mutex>;

enum class Kind { unknown, device, pinned, managed };
struct Where {
  Kind kind = Kind::unknown;
  int device = 0;
};

/// Counts a call that can fail, and says what it is to answer: success, or what a test has asked for.
Status enter(Status failure = launch_failed);

void initialise();
bool is_initialised();

Status allocate(Kind kind, int device, std::size_t bytes, void** memory);
Status release(void* memory);
/// Lets copies and kernels reach whole pages of the program's own memory, until they are dismissed.
Status admit(void* memory, std::size_t bytes);
Status dismiss(void* memory);
/// Where kernels see such memory.
Status see(void** seen, void* memory);
Where locate(const void* address);

/// What a process gives others, to open the memory of one of its devices.
struct Ticket {
  long process = 0;
  int file = -1;
  int device = 0;
  std::size_t bytes = 0;
  char rest[40] = {};
};
static_assert(sizeof(Ticket) == 64);  // as both interfaces have it

/// Of the allocation in which an address of a device's memory lies.
Status range(void** begin, std::size_t* bytes, const void* memory);
Status share(Ticket* ticket, void* memory);
Status open(void** memory, const Ticket& ticket);
Status close(void* memory);

Status create_stream(void** stream);
Status create_event(void** event);
Status destroy_event(void* event);
void put(void* stream, std::function<Status()> work);
Status record(void* event, void* stream);
/// Has a stream go on only when the event has happened as it was recorded last.
Status have_stream_await(void* stream, void* event);
/// Whether it has happened, after the device has gone on a little.
Status query(void* event);
Status await_event(void* event);
/// Whether a stream has nothing to do any more, after the device has gone on for longer: this is asked seldom.
Status query_stream(void* stream);
Status await_stream(void* stream);

/// What the calling thread's calls may do while a stream is captured.
inline constexpr int relaxed_capture = 2;
int& capture_mode();
bool is_captured(void* stream);
Status begin_capture(void* stream);
/// Work that was put on it meanwhile is lost: there are no graphs.
Status end_capture(void* stream, void** graph);

Status copy(void* to, const void* from, std::size_t bytes);
Status fill(void* memory, int value, std::size_t bytes);

/// The kernel of a name; null where there is none.
void* find_kernel(const char* name);
/// Reads the arguments, and puts the kernel on the stream.
Status launch(void* kernel, unsigned blocks, unsigned threads, void* stream, void** arguments);
/// Where a kernel touches an address; null, with a fault noted, where a device cannot.
void* touched_by_kernel(const void* address);

/// The answer of the run-time compiler to this source; "" where it does not compile.
std::string compiled(const std::string& source, const std::string& options);
bool is_code(const void* image);

/// What tests set and read (tests/cpp/driver_double.hpp lists it).
long number(const std::string& name);
void count(const std::string& name, long change = 1);
/// Counts down a number that is set; whether it has come to zero.
bool count_down(const std::string& name);

}  // namespace simulated

// For tests, beside the interface that is simulated.
extern "C" {
__attribute__((visibility("default"))) long driver_double_get(const char* name);
__attribute__((visibility("default"))) void driver_double_set(const char* name, long value);
}
