// AMD's run-time interface and compiler, as far as the library uses them.
#include "entries.hpp"

using namespace simulated;

namespace {

thread_local int current = 0;

/// Direction of a copy: this value means that the addresses determine it.
constexpr int default_kind = 4;

}  // namespace

ENTRY hipRuntimeGetVersion(int* version) {
  *version = static_cast<int>(number("version") != 0 ? number("version") : 60'200'000);
  return success;
}
ENTRY hipInit(unsigned) {
  return entered([] {
    initialise();
    return success;
  });
}
ENTRY hipGetDeviceCount(int* count) {
  *count = devices;
  return success;
}
ENTRY hipDeviceGetName(char* name, int size, int) {
  return entered([=] {
    std::strncpy(name, "the double", static_cast<std::size_t>(size));
    return success;
  });
}
ENTRY hipDrvPointerGetAttributes(unsigned count, int* attributes, void** data, void* address) {
  return answer(count, attributes, data, address);
}
ENTRY hipDevicePrimaryCtxGetState(int, unsigned* flags, int* active) {
  *flags = 0;
  *active = is_initialised() ? 1 : 0;
  return success;
}
ENTRY hipGetDevice(int* device) {
  *device = current;
  return success;
}
ENTRY hipSetDevice(int device) {
  return entered([=] {
    current = device;
    return success;
  });
}
ENTRY hipMalloc(void** memory, std::size_t bytes) {
  return entered([=] { return allocate(Kind::device, current, bytes, memory); }, out_of_memory);
}
ENTRY hipFree(void* memory) { return release(memory); }
ENTRY hipHostMalloc(void** memory, std::size_t bytes, unsigned) {
  return entered([=] { return allocate(Kind::pinned, current, bytes, memory); }, out_of_memory);
}
ENTRY hipHostFree(void* memory) { return release(memory); }
ENTRY hipHostRegister(void* memory, std::size_t bytes, unsigned flags) {
  return entered([=] { return flags == 3 ? pin(memory, bytes) : invalid_value; });
}
ENTRY hipHostUnregister(void* memory) { return unpin(memory); }
ENTRY hipHostGetDevicePointer(void** seen, void* memory, unsigned) {
  return entered([=] { return see(seen, memory); });
}
ENTRY hipMemsetAsync(void* memory, int value, std::size_t bytes, void* stream) {
  return entered([=] {
    put(stream, [=] { return fill(memory, value, bytes); });
    return success;
  });
}
ENTRY hipMemcpyAsync(void* to, const void* from, std::size_t bytes, int kind, void* stream) {
  return entered([=] {
    if (kind != default_kind) return invalid_value;
    count("copies");
    put(stream, [=] { return copy(to, from, bytes); });
    return success;
  });
}
ENTRY hipStreamCreateWithFlags(void** stream, unsigned) {
  return entered([=] { return create_stream(stream); });
}
ENTRY hipStreamQuery(void* stream) {
  return entered([=] { return query_stream(stream); });
}
ENTRY hipStreamSynchronize(void* stream) {
  return entered([=] { return await_stream(stream); });
}
ENTRY hipStreamWaitEvent(void* stream, void* event, unsigned) {
  return entered([=] { return have_stream_await(stream, event); });
}
ENTRY hipStreamIsCapturing(void* stream, int* state) { return capture_state(stream, state); }
ENTRY hipThreadExchangeStreamCaptureMode(int* mode) { return exchange_capture_mode(mode); }
ENTRY hipEventCreateWithFlags(void** event, unsigned) {
  return entered([=] { return create_event(event); });
}
ENTRY hipEventDestroy(void* event) { return destroy_event(event); }
ENTRY hipEventRecord(void* event, void* stream) {
  return entered([=] { return record(event, stream); });
}
ENTRY hipEventQuery(void* event) {
  return entered([=] { return query(event); });
}
ENTRY hipEventSynchronize(void* event) {
  return entered([=] { return await_event(event); });
}
ENTRY hipMemGetAddressRange(void** begin, std::size_t* bytes, void* memory) {
  return entered([=] { return range(begin, bytes, memory); });
}
ENTRY hipIpcGetMemHandle(IpcHandle* handle, void* memory) {
  return entered([=] { return share(handle, memory); });
}
ENTRY hipIpcOpenMemHandle(void** memory, IpcHandle handle, unsigned flags) {
  return entered([=] { return flags == 1 ? open(memory, handle) : invalid_value; });
}
ENTRY hipIpcCloseMemHandle(void* memory) { return close(memory); }
ENTRY hipModuleLoadData(void** module, const void* image) {
  return entered([=] {
    *module = const_cast<void*>(image);
    return is_code(image) ? success : invalid_image;
  });
}
ENTRY hipModuleGetFunction(void** function, void*, const char* name) {
  return entered([=] {
    *function = find_kernel(name);
    return *function != nullptr ? success : not_found;
  });
}
ENTRY hipModuleLaunchKernel(void* kernel, unsigned blocks, unsigned, unsigned, unsigned threads,
                            unsigned, unsigned, unsigned, void* stream, void** arguments, void**) {
  return entered([=] { return launch(kernel, blocks, threads, stream, arguments); });
}
extern "C" __attribute__((visibility("default"))) const char* hipGetErrorString(int status) {
  return text(status);
}

ENTRY hiprtcVersion(int* major, int* minor) {
  *major = 0;
  *minor = 1;
  return success;
}
ENTRY hiprtcCreateProgram(void** program, const char* source, const char*, int, const char* const*,
                          const char* const*) {
  return create(program, source);
}
ENTRY hiprtcDestroyProgram(void** program) { return destroy(program); }
ENTRY hiprtcCompileProgram(void* program, int count, const char* const* options) {
  return compile(program, count, options);
}
ENTRY hiprtcGetProgramLogSize(void* it, std::size_t* bytes) {
  return size_of(static_cast<Program*>(it)->log, bytes);
}
ENTRY hiprtcGetProgramLog(void* it, char* log) { return give(static_cast<Program*>(it)->log, log); }
ENTRY hiprtcGetCodeSize(void* it, std::size_t* bytes) {
  return size_of(static_cast<Program*>(it)->code, bytes);
}
ENTRY hiprtcGetCode(void* it, char* code) { return give(static_cast<Program*>(it)->code, code); }
