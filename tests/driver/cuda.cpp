// NVIDIA's driver interface and run-time compiler, as far as the library uses them.
#include <array>
#include <atomic>
#include <type_traits>

#include "entries.hpp"

using namespace simulated;

namespace {

/// The contexts that a thread has pushed; a context is a device's number plus one.
class ContextStack {
 public:
  [[nodiscard]] bool empty() const { return depth_ == 0; }
  [[nodiscard]] std::size_t top() const { return contexts_[depth_ - 1]; }
  [[nodiscard]] bool push(std::size_t context) {
    if (depth_ == contexts_.size()) return false;
    contexts_[depth_++] = context;
    return true;
  }
  void pop() { --depth_; }

 private:
  std::array<std::size_t, 16> contexts_{};
  std::size_t depth_ = 0;
};
// Objects destroyed at process exit release memory after the thread's own objects are gone.
static_assert(std::is_trivially_destructible_v<ContextStack>);
thread_local ContextStack contexts;

/// Runs `action` with a context, as most functions require.
template <class Action>
int in_context(Action action, Status failure = launch_failed) {
  if (contexts.empty()) {
    count("misuses");
    return invalid_context;
  }
  return entered(action, failure);
}

int device() { return static_cast<int>(contexts.top()) - 1; }

std::array<std::atomic<bool>, devices> has_context;

}  // namespace

ENTRY cuDriverGetVersion(int* version) {
  *version = static_cast<int>(number("version") != 0 ? number("version") : 12040);
  return success;
}
ENTRY cuInit(unsigned) {
  return entered([] {
    initialise();
    return success;
  });
}
ENTRY cuDeviceGetCount(int* count) {
  if (!is_initialised()) return not_initialised;
  *count = devices;
  return success;
}
ENTRY cuDeviceGetName(char* name, int size, int) {
  std::strncpy(name, "the double", static_cast<std::size_t>(size));
  return success;
}
ENTRY cuDeviceGetAttribute(int* value, int attribute, int) {
  return entered([&] {
    const long architecture = number("architecture") != 0 ? number("architecture") : 90;
    *value = static_cast<int>(attribute == 75 ? architecture / 10 : architecture % 10);
    return success;
  });
}
ENTRY cuPointerGetAttributes(unsigned count, int* attributes, void** data, void* address) {
  return answer(count, attributes, data, address);
}
ENTRY cuDevicePrimaryCtxRetain(void** context, int number) {
  return entered([&] {
    if (!is_initialised()) return not_initialised;
    *context = reinterpret_cast<void*>(static_cast<std::size_t>(number) + 1);
    has_context[static_cast<std::size_t>(number)] = true;
    return success;
  });
}
ENTRY cuDevicePrimaryCtxGetState(int number, unsigned* flags, int* active) {
  if (!is_initialised()) return not_initialised;
  *flags = 0;
  *active = has_context[static_cast<std::size_t>(number)] ? 1 : 0;
  return success;
}
ENTRY cuCtxPushCurrent_v2(void* context) {
  return entered([&] {
    return contexts.push(reinterpret_cast<std::size_t>(context)) ? success : invalid_value;
  });
}
ENTRY cuCtxPopCurrent_v2(void** context) {
  if (contexts.empty()) return invalid_context;
  *context = reinterpret_cast<void*>(contexts.top());
  contexts.pop();
  return success;
}
ENTRY cuMemAlloc_v2(void** memory, std::size_t bytes) {
  return in_context([&] { return allocate(Kind::device, device(), bytes, memory); }, out_of_memory);
}
ENTRY cuMemFree_v2(void* memory) { return release(memory); }
ENTRY cuMemHostAlloc(void** memory, std::size_t bytes, unsigned) {
  return in_context([&] { return allocate(Kind::pinned, device(), bytes, memory); }, out_of_memory);
}
ENTRY cuMemFreeHost(void* memory) { return release(memory); }
ENTRY cuMemHostRegister_v2(void* memory, std::size_t bytes, unsigned flags) {
  return in_context([=] { return flags == 3 ? pin(memory, bytes) : invalid_value; });
}
ENTRY cuMemHostUnregister(void* memory) { return unpin(memory); }
ENTRY cuMemHostGetDevicePointer_v2(void** seen, void* memory, unsigned) {
  return in_context([=] { return see(seen, memory); });
}
ENTRY cuMemAllocManaged(void** memory, std::size_t bytes, unsigned) {
  return in_context([&] { return allocate(Kind::managed, device(), bytes, memory); },
                    out_of_memory);
}
ENTRY cuMemsetD8Async(void* memory, int value, std::size_t bytes, void* stream) {
  return in_context([=] {
    put(stream, [=] { return fill(memory, value, bytes); });
    return success;
  });
}
ENTRY cuMemcpyAsync(void* to, const void* from, std::size_t bytes, void* stream) {
  return in_context([=] {
    count("copies");
    put(stream, [=] { return copy(to, from, bytes); });
    return success;
  });
}
ENTRY cuStreamCreate(void** stream, unsigned) {
  return in_context([=] { return create_stream(stream); });
}
ENTRY cuStreamQuery(void* stream) {
  return in_context([=] { return query_stream(stream); });
}
ENTRY cuStreamSynchronize(void* stream) {
  return in_context([=] { return await_stream(stream); });
}
ENTRY cuStreamWaitEvent(void* stream, void* event, unsigned) {
  return in_context([=] { return have_stream_await(stream, event); });
}
ENTRY cuStreamIsCapturing(void* stream, int* state) { return capture_state(stream, state); }
ENTRY cuThreadExchangeStreamCaptureMode(int* mode) { return exchange_capture_mode(mode); }
ENTRY cuStreamBeginCapture_v2(void* stream, int) { return begin_capture(stream); }
ENTRY cuStreamEndCapture(void* stream, void** graph) { return end_capture(stream, graph); }
ENTRY cuEventCreate(void** event, unsigned) {
  return in_context([=] { return create_event(event); });
}
ENTRY cuEventDestroy_v2(void* event) { return destroy_event(event); }
ENTRY cuEventRecord(void* event, void* stream) {
  return in_context([=] { return record(event, stream); });
}
ENTRY cuEventQuery(void* event) {
  return in_context([=] { return query(event); });
}
ENTRY cuEventSynchronize(void* event) {
  return in_context([=] { return await_event(event); });
}
ENTRY cuMemGetAddressRange_v2(void** begin, std::size_t* bytes, void* memory) {
  return in_context([=] { return range(begin, bytes, memory); });
}
ENTRY cuIpcGetMemHandle(IpcHandle* handle, void* memory) {
  return in_context([=] { return share(handle, memory); });
}
ENTRY cuIpcOpenMemHandle_v2(void** memory, IpcHandle handle, unsigned flags) {
  return in_context([=] { return flags == 1 ? open(memory, handle) : invalid_value; });
}
ENTRY cuIpcCloseMemHandle(void* memory) { return close(memory); }
ENTRY cuModuleLoadData(void** module, const void* image) {
  return in_context([=] {
    *module = const_cast<void*>(image);
    return is_code(image) ? success : invalid_image;
  });
}
ENTRY cuModuleGetFunction(void** function, void*, const char* name) {
  return in_context([=] {
    *function = find_kernel(name);
    return *function != nullptr ? success : not_found;
  });
}
ENTRY cuLaunchKernel(void* kernel, unsigned blocks, unsigned, unsigned, unsigned threads, unsigned,
                     unsigned, unsigned, void* stream, void** arguments, void**) {
  return in_context([=] { return launch(kernel, blocks, threads, stream, arguments); });
}
ENTRY cuGetErrorString(int status, const char** words) {
  *words = text(status);
  return success;
}

ENTRY nvrtcVersion(int* major, int* minor) {
  *major = 0;
  *minor = 1;
  return success;
}
ENTRY nvrtcCreateProgram(void** program, const char* source, const char*, int, const char* const*,
                         const char* const*) {
  return create(program, source);
}
ENTRY nvrtcDestroyProgram(void** program) { return destroy(program); }
ENTRY nvrtcCompileProgram(void* program, int count, const char* const* options) {
  return number("no_compiler") != 0 ? 11 : compile(program, count, options);
}
ENTRY nvrtcGetProgramLogSize(void* it, std::size_t* bytes) {
  return size_of(static_cast<Program*>(it)->log, bytes);
}
ENTRY nvrtcGetProgramLog(void* it, char* log) { return give(static_cast<Program*>(it)->log, log); }
ENTRY nvrtcGetCUBINSize(void* it, std::size_t* bytes) {
  return size_of(static_cast<Program*>(it)->code, bytes);
}
ENTRY nvrtcGetCUBIN(void* it, char* code) { return give(static_cast<Program*>(it)->code, code); }
ENTRY nvrtcGetPTXSize(void* it, std::size_t* bytes) {
  return size_of(static_cast<Program*>(it)->code, bytes);
}
ENTRY nvrtcGetPTX(void* it, char* code) { return give(static_cast<Program*>(it)->code, code); }
