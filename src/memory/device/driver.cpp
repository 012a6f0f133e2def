// Finds the drivers: opens their libraries, and looks up the functions needed.
#include "memory/device/driver.hpp"

#include <dlfcn.h>
#include <unistd.h>

#include <array>
#include <optional>
#include <string>

#include "base/error.hpp"
#include "base/guarded.hpp"
#include "base/log.hpp"
#include "base/setting.hpp"

namespace vicinal::device {

Library::Library(std::initializer_list<const char*> names) {
  for (const char* const name : names) {
    handle_ = dlopen(name, RTLD_NOW | RTLD_LOCAL);
    if (handle_ != nullptr) {
      name_ = name;
      return;
    }
    const char* const said = dlerror();
    if (why_.empty()) why_ = said != nullptr ? said : std::string(name) + " cannot be opened";
  }
}

void* Library::find(const char* name) const { return dlsym(handle_, name); }

namespace {

/// Attributes of addresses, with equal numbers in both interfaces.
enum Attribute : int { memory_type = 2, is_managed = 8, device_ordinal = 9 };
/// Values of memory_type; for AMD since ROCm 6.
enum MemoryType : unsigned { of_host = 1, of_device = 2 };

/// Direction of AMD's copies: from any memory to any other.
constexpr int of_any_kind = 4;

}  // namespace

Place Driver::locate(const void* address) const noexcept {
  unsigned type = 0;
  unsigned managed = 0;  // NVIDIA writes one byte, AMD four
  int number = 0;
  std::array<int, 3> wanted{memory_type, is_managed, device_ordinal};
  std::array<void*, 3> found{&type, &managed, &number};
  const Status status = calls.pointer_attributes.function(wanted.size(), wanted.data(),
                                                          found.data(), const_cast<void*>(address));
  // For memory that is not its own, or uninitialized, a driver returns no attributes or an error.
  if (status != success) return {};
  if (managed != 0) return {Place::Kind::managed, number};
  if (type == of_device) return {Place::Kind::device, number};
  if (type == of_host) return {Place::Kind::pinned, number};
  return {};
}

void Driver::copy(void* to, const void* from, std::size_t bytes, void* stream) const {
  if (vendor_ == Vendor::nvidia) return call(calls.copy, to, from, bytes, stream);
  call(calls.copy_of_kind, to, from, bytes, of_any_kind, stream);
}

void Driver::refuse(const char* function, Status status) const {
  const char* text = nullptr;
  if (calls.text != nullptr) text = calls.text(status);
  if (calls.text_into != nullptr && calls.text_into(status, &text) != success) text = nullptr;
  const bool memory = status == out_of_memory;
  fail(memory ? Fault::memory : Fault::device, function, " has failed with ", status, ": ",
       text != nullptr ? text : "an error that the driver has no text for",
       memory
           ? "; give back device or pinned memory, or let fewer exchanges be in flight"
           : "; what the program's own kernels and copies have failed with before shows here, too");
}

namespace {

/// Exists if AMD's kernel driver has a device. Opening HIP's library takes half a second, so it is
/// opened only then.
constexpr const char* amd_kernel_driver = "/dev/kfd";
/// Since ROCm 6 memory types have the same values as NVIDIA's.
constexpr int oldest_hip = 60'000'000;
/// CUDA 11.0 is the first version with all functions needed.
constexpr int oldest_cuda = 11'000;

constexpr const char* setting_key = "vicinal_device_driver";

void say(std::string_view what) {
  log_line(LogLevel::info, [&](std::ostream& line) { line << "device memory: " << what; });
}

/// Keeps a driver that has all functions and is recent enough.
void keep(Drivers& found, Driver::Vendor vendor, const Library& library, const Calls& calls,
          const Finder& finder, Entry<int*> version, int oldest) {
  if (finder.missing() != nullptr) {
    return say(library.name() + " has no " + finder.missing() + " and is not used");
  }
  int number = 0;
  const Status status = version.function(&number);
  if (status != success || number < oldest) {
    return say(library.name() + " is of version " + std::to_string(number) + ", at least " +
               std::to_string(oldest) + " is needed");
  }
  found.push_back(std::make_unique<const Driver>(vendor, library, calls));
  say(std::string(found.back()->name()) + " by " + library.name());
}

void add_cuda(Drivers& found, const Library& library) {
  Calls calls;
  Finder find(library);
  Entry<int*> version;
  find(version, "cuDriverGetVersion");
  find(calls.initialize, "cuInit");
  find(calls.count_devices, "cuDeviceGetCount");
  find(calls.device_name, "cuDeviceGetName");
  find(calls.context_state, "cuDevicePrimaryCtxGetState");
  find(calls.device_attribute, "cuDeviceGetAttribute");
  find(calls.pointer_attributes, "cuPointerGetAttributes");
  find(calls.retain_context, "cuDevicePrimaryCtxRetain");
  find(calls.push_context, "cuCtxPushCurrent_v2");
  find(calls.pop_context, "cuCtxPopCurrent_v2");
  find(calls.allocate, "cuMemAlloc_v2");
  find(calls.release, "cuMemFree_v2");
  find(calls.allocate_pinned, "cuMemHostAlloc");
  find(calls.release_pinned, "cuMemFreeHost");
  find(calls.register_memory, "cuMemHostRegister_v2");
  find(calls.unregister_memory, "cuMemHostUnregister");
  find(calls.seen_from_device, "cuMemHostGetDevicePointer_v2");
  find(calls.fill, "cuMemsetD8Async");
  find(calls.copy, "cuMemcpyAsync");
  find(calls.create_stream, "cuStreamCreate");
  find(calls.query_stream, "cuStreamQuery");
  find(calls.await_stream, "cuStreamSynchronize");
  find(calls.have_stream_await, "cuStreamWaitEvent");
  find(calls.capture_state, "cuStreamIsCapturing");
  find(calls.exchange_capture_mode, "cuThreadExchangeStreamCaptureMode");
  find(calls.create_event, "cuEventCreate");
  find(calls.destroy_event, "cuEventDestroy_v2");
  find(calls.record_event, "cuEventRecord");
  find(calls.query_event, "cuEventQuery");
  find(calls.await_event, "cuEventSynchronize");
  find(calls.allocation_range, "cuMemGetAddressRange_v2");
  find(calls.share_memory, "cuIpcGetMemHandle");
  find(calls.open_memory, "cuIpcOpenMemHandle_v2");
  find(calls.close_memory, "cuIpcCloseMemHandle");
  find(calls.load_module, "cuModuleLoadData");
  find(calls.find_function, "cuModuleGetFunction");
  find(calls.launch, "cuLaunchKernel");
  find(calls.text_into, "cuGetErrorString");
  keep(found, Driver::Vendor::nvidia, library, calls, find, version, oldest_cuda);
}

void add_hip(Drivers& found, const Library& library) {
  Calls calls;
  Finder find(library);
  Entry<int*> version;
  find(version, "hipRuntimeGetVersion");
  find(calls.initialize, "hipInit");
  find(calls.count_devices, "hipGetDeviceCount");
  find(calls.device_name, "hipDeviceGetName");
  find(calls.context_state, "hipDevicePrimaryCtxGetState");
  find(calls.pointer_attributes, "hipDrvPointerGetAttributes");
  find(calls.current_device, "hipGetDevice");
  find(calls.use_device, "hipSetDevice");
  find(calls.allocate, "hipMalloc");
  find(calls.release, "hipFree");
  find(calls.allocate_pinned, "hipHostMalloc");
  find(calls.release_pinned, "hipHostFree");
  find(calls.register_memory, "hipHostRegister");
  find(calls.unregister_memory, "hipHostUnregister");
  find(calls.seen_from_device, "hipHostGetDevicePointer");
  find(calls.fill, "hipMemsetAsync");
  find(calls.copy_of_kind, "hipMemcpyAsync");
  find(calls.create_stream, "hipStreamCreateWithFlags");
  find(calls.query_stream, "hipStreamQuery");
  find(calls.await_stream, "hipStreamSynchronize");
  find(calls.have_stream_await, "hipStreamWaitEvent");
  find(calls.capture_state, "hipStreamIsCapturing");
  find(calls.exchange_capture_mode, "hipThreadExchangeStreamCaptureMode");
  find(calls.create_event, "hipEventCreateWithFlags");
  find(calls.destroy_event, "hipEventDestroy");
  find(calls.record_event, "hipEventRecord");
  find(calls.query_event, "hipEventQuery");
  find(calls.await_event, "hipEventSynchronize");
  find(calls.allocation_range, "hipMemGetAddressRange");
  find(calls.share_memory, "hipIpcGetMemHandle");
  find(calls.open_memory, "hipIpcOpenMemHandle");
  find(calls.close_memory, "hipIpcCloseMemHandle");
  find(calls.load_module, "hipModuleLoadData");
  find(calls.find_function, "hipModuleGetFunction");
  find(calls.launch, "hipModuleLaunchKernel");
  find(calls.text, "hipGetErrorString");
  keep(found, Driver::Vendor::amd, library, calls, find, version, oldest_hip);
}

/// Adds a driver from a file, of either vendor.
void add_file(Drivers& found, const std::string& path) {
  const bool is_path = path.find('/') != std::string::npos;
  const std::string file = is_path ? from_start(path) : path;
  const Library library({file.c_str()});
  const auto ignored = [&](std::string_view why) {
    warn_once(variable_of(setting_key), " is '", path, "', which is not used: ", why);
  };
  if (!library) return ignored(library.why());
  if (library.find("cuInit") != nullptr) {
    add_cuda(found, library);
  } else if (library.find("hipInit") != nullptr) {
    add_hip(found, library);
  } else {
    return ignored("it has neither cuInit nor hipInit");
  }
  if (found.empty()) ignored("it lacks functions or is too old (VICINAL_LOG=info says which)");
}

Drivers drivers_of(std::string_view wish) {
  Drivers found;
  if (wish == "none") return found;
  if (wish != "automatic") {
    add_file(found, std::string(wish));
    return found;
  }
  if (const Library cuda({"libcuda.so.1"}); cuda) {
    add_cuda(found, cuda);
  } else {
    say("no CUDA: " + cuda.why());
  }
  if (access(amd_kernel_driver, F_OK) != 0) {
    say(std::string("no HIP: there is no ") + amd_kernel_driver);
  } else if (const Library hip({"libamdhip64.so.7", "libamdhip64.so.6", "libamdhip64.so"}); hip) {
    add_hip(found, hip);
  } else {
    say("no HIP: " + hip.why());
  }
  return found;
}

Mutex looking;

}  // namespace

const Drivers& find_drivers() {
  const Lock lock(looking);
  // Another thread may have found them meanwhile.
  const Drivers* found = detail::drivers.load(std::memory_order_acquire);
  if (found == nullptr) {
    found = new Drivers(drivers_of(process_value(setting_key)));
    detail::drivers.store(found, std::memory_order_release);
  }
  return *found;
}

const Drivers& find_drivers_again(std::string_view wish) {
  const Lock lock(looking);
  const auto* const found = new Drivers(drivers_of(wish));
  detail::drivers.store(found, std::memory_order_release);
  return *found;
}

}  // namespace vicinal::device
