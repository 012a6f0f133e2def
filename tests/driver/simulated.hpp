// A GPU driver as far as the library uses one, without a GPU: implements the entry points of both
// vendors' interfaces (cuda.cpp, hip.cpp).
//
// - The program cannot access pages of device memory unless a test opens them to MPI. Copies and
//   kernels use a second mapping. Another process that opens the memory maps the same pages;
//   freeing it meanwhile is a misuse.
// - Tasks on a stream run when a caller polls or waits, after a varying number of polls; streams
//   overtake each other. A program that does not wait sees the old data.
// - Kernels are the library's, compiled for the host. Their threads run out of order. Like any
//   task, a completion flag is set when its stream reaches it; a flag set too early or never is a
//   misuse.
// - Calls can be told to fail. Allocations and misuses are counted.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <mutex>
#include <string>

namespace simulated {

/// Status codes that both interfaces share.
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

/// Protects the whole state of the double: one call at a time.
std::recursive_mutex& mutex();
using Lock = std::lock_guard<std::recursive_mutex>;

enum class Kind { unknown, device, pinned, managed };
struct Where {
  Kind kind = Kind::unknown;
  int device = 0;
};

/// Counts a call that can fail. Returns success, or the failure that a test has requested.
Status enter(Status failure = launch_failed);

void initialise();
bool is_initialised();

Status allocate(Kind kind, int device, std::size_t bytes, void** memory);
Status release(void* memory);
/// Lets copies and kernels access whole pages of the program's own memory, until they are unpinned.
Status pin(void* memory, std::size_t bytes);
Status unpin(void* memory);
/// Sets `seen` to the address at which kernels access such memory.
Status see(void** seen, void* memory);
Where locate(const void* address);

/// Handle by which other processes open the memory of a device.
struct IpcHandle {
  long process = 0;
  int file = -1;
  int device = 0;
  std::size_t bytes = 0;
  char rest[40] = {};
};
static_assert(sizeof(IpcHandle) == 64);  // as in both interfaces

/// Returns the allocation that contains an address of device memory.
Status range(void** begin, std::size_t* bytes, const void* memory);
Status share(IpcHandle* handle, void* memory);
Status open(void** memory, const IpcHandle& handle);
Status close(void* memory);

Status create_stream(void** stream);
Status create_event(void** event);
Status destroy_event(void* event);
void put(void* stream, std::function<Status()> work);
Status record(void* event, void* stream);
/// Makes a stream wait until the event has happened as often as it is now recorded.
Status have_stream_await(void* stream, void* event);
/// Advances the device a little; returns whether the event has happened.
Status query(void* event);
Status await_event(void* event);
/// Advances the device further, since this call is rare; returns whether the stream has no more
/// tasks.
Status query_stream(void* stream);
Status await_stream(void* stream);

/// Capture mode of the calling thread: the calls it may make while a stream is captured.
inline constexpr int relaxed_capture = 2;
int& capture_mode();
bool is_captured(void* stream);
Status begin_capture(void* stream);
/// Work put on the stream meanwhile is lost: there are no graphs.
Status end_capture(void* stream, void** graph);

Status copy(void* to, const void* from, std::size_t bytes);
Status fill(void* memory, int value, std::size_t bytes);

/// Returns the kernel of a name, or null.
void* find_kernel(const char* name);
/// Reads the arguments and puts the kernel on the stream.
Status launch(void* kernel, unsigned blocks, unsigned threads, void* stream, void** arguments);
/// Returns the address at which a kernel accesses `address`; null, with a failure noted, if a
/// device cannot.
void* touched_by_kernel(const void* address);

/// Returns the run-time compiler's output for this source; "" if it does not compile.
std::string compiled(const std::string& source, const std::string& options);
bool is_code(const void* image);

/// Numbers that tests set and read (tests/cpp/driver_double.hpp lists them).
long number(const std::string& name);
void count(const std::string& name, long change = 1);
/// Decrements a number that is set; returns whether it has reached zero.
bool count_down(const std::string& name);

}  // namespace simulated

// Functions for tests, in addition to the simulated interface.
extern "C" {
__attribute__((visibility("default"))) long driver_double_get(const char* name);
__attribute__((visibility("default"))) void driver_double_set(const char* name, long value);
}
