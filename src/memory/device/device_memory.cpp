#include "memory/device/device_memory.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <map>
#include <ostream>
#include <utility>

#include "base/error.hpp"
#include "base/guarded.hpp"
#include "base/log.hpp"
#include "base/no_destructor.hpp"
#include "memory/device/device.hpp"
#include "memory/device/job.hpp"
#include "memory/device/kernels.hpp"

namespace vicinal {

namespace device {

namespace {

/// Flag of cuMemHostAlloc, hipHostMalloc, cuMemHostRegister and hipHostRegister: pinned for all
/// contexts.
constexpr unsigned portable = 1;
/// Flag of the same functions: kernels may access the memory. AMD's devices do not cache such
/// memory, so the host sees what a kernel writes before the kernel ends.
constexpr unsigned mapped = 2;

/// Flag for opening memory of another process: also allows memory of devices other than the current
/// one.
constexpr unsigned reach_other_devices = 1;

const char* mpi_name_of(const Driver& driver) {
  return driver.vendor() == Driver::Vendor::nvidia ? "cuda" : "rocm";
}

/// Pinned host memory, which the device's copies and kernels access.
class PinnedMemory final : public ReachableMemory {
 public:
  explicit PinnedMemory(Device& device) : device_(device) {}
  [[nodiscard]] const char* name() const override { return "pinned"; }
  [[nodiscard]] std::byte* allocate(std::size_t bytes) override {
    const Device::Current current(device_);
    void* memory = nullptr;
    device_.driver().call(device_.driver().calls.allocate_pinned, &memory, bytes,
                          portable | mapped);
    return static_cast<std::byte*>(std::memset(memory, 0, bytes));
  }
  void release(std::byte* memory) noexcept override {
    device_.give_back(device_.driver().calls.release_pinned, memory);
  }

 private:
  Device& device_;
};

/// A device with its kinds; never freed.
struct Kinds {
  Kinds(const Driver& driver, int number)
      : device(driver, number), pinned(device), memory(device, pinned) {}
  Device device;
  PinnedMemory pinned;
  DeviceMemory memory;
};

Kinds& kinds_of(const Driver& driver, int number) {
  static Mutex mutex;
  static NoDestructor<std::map<std::pair<const Driver*, int>, Kinds*>> known;
  const Lock lock(mutex);
  Kinds*& kinds = (*known)[{&driver, number}];
  if (kinds == nullptr) kinds = new Kinds(driver, number);
  return *kinds;
}

}  // namespace

DeviceMemory::DeviceMemory(Device& device, MemoryKind& pinned)
    : device_(device),
      pinned_(pinned),
      name_(std::string(device.driver().name()) + " device " + std::to_string(device.number())) {}

const char* DeviceMemory::mpi_name() const { return mpi_name_of(device_.driver()); }

IpcHandle DeviceMemory::share(std::byte* memory) {
  const Device::Current current(device_);
  IpcHandle handle;
  device_.driver().call(device_.driver().calls.share_memory, &handle, static_cast<void*>(memory));
  return handle;
}

std::byte* DeviceMemory::open_shared(const IpcHandle& handle) {
  const Device::Current current(device_);
  void* memory = nullptr;
  device_.driver().call(device_.driver().calls.open_memory, &memory, handle, reach_other_devices);
  return static_cast<std::byte*>(memory);
}

void DeviceMemory::close_shared(std::byte* memory) noexcept {
  device_.give_back(device_.driver().calls.close_memory, memory);
}

Lease DeviceMemory::lend(const std::byte* memory) {
  const Device::Current current(device_);
  void* begin = nullptr;
  std::size_t bytes = 0;
  device_.driver().call(device_.driver().calls.allocation_range, &begin, &bytes,
                        static_cast<void*>(const_cast<std::byte*>(memory)));
  auto* const first = static_cast<std::byte*>(begin);
  return {share(first), memory - first};
}

std::byte* DeviceMemory::allocate(std::size_t bytes) {
  const Device::Current current(device_);
  void* allocated = nullptr;
  device_.driver().call(device_.driver().calls.allocate, &allocated, bytes);
  auto* const memory = static_cast<std::byte*>(allocated);
  try {
    device_.clear(memory, bytes);
  } catch (...) {
    release(memory);
    throw;
  }
  return memory;
}

void DeviceMemory::release(std::byte* memory) noexcept {
  device_.give_back(device_.driver().calls.release, memory);
}

bool DeviceMemory::reaches(const MemoryKind& other, std::int64_t bytes) const {
  return &other == this || (&other == &pinned_ && bytes <= most_by_kernel);
}

bool DeviceMemory::pin(std::byte* memory, std::size_t bytes) {
  const Calls& calls = device_.driver().calls;
  try {
    const Device::Current current(device_);
    device_.driver().call(calls.register_memory, static_cast<void*>(memory), bytes,
                          portable | mapped);
  } catch (const Error& error) {
    log_line(LogLevel::info, [&](std::ostream& line) {
      line << "device memory: what ranks of this host hand over is copied once more: "
           << error.what();
    });
    return false;
  }
  try {
    const Device::Current current(device_);
    void* seen = nullptr;
    device_.driver().call(calls.seen_from_device, &seen, static_cast<void*>(memory), 0U);
    if (seen == memory) return true;
  } catch (const Error&) {
    // Handled below, like memory with another address on the device.
  }
  unpin(memory);
  return false;
}

void DeviceMemory::unpin(std::byte* memory) noexcept {
  device_.give_back(device_.driver().calls.unregister_memory, memory);
}

void DeviceMemory::launch() noexcept { device_.batches().launch(); }

void DeviceMemory::await_followed() {
  const Device::Current current(device_);
  device_.await_followed();
}

std::unique_ptr<MemoryJob> DeviceMemory::prepare_fence() {
  const Device::Current current(device_);
  return std::make_unique<Fence>(device_);
}

bool DeviceMemory::is_captured(std::uintptr_t stream) {
  const Device::Current current(device_);
  return device_.is_captured(reinterpret_cast<void*>(stream));
}

std::unique_ptr<MemoryJob> DeviceMemory::prepare_copy(std::span<const CopyRun> runs,
                                                      std::size_t element_bytes, Sides inside) {
  const Device::Current current(device_);
  return std::make_unique<Job>(device_, *this,
                               copy_script(runs, element_bytes, inside, device_.has_kernels()));
}

std::unique_ptr<MemoryJob> DeviceMemory::prepare_reduction(std::span<const CopyRun> runs,
                                                           std::size_t element_bytes, ReduceOp op,
                                                           ElementType type, Sides inside) {
  if (op == ReduceOp::replace) return prepare_copy(runs, element_bytes, inside);
  const Device::Current current(device_);
  return std::make_unique<Job>(
      device_, *this,
      reduction_script(runs, element_bytes, op, type, inside, device_.has_kernels()));
}

MemoryKind* first_device(std::string_view mpi_name) {
  for (const auto& driver : drivers()) {
    if (mpi_name == mpi_name_of(*driver)) return &kinds_of(*driver, 0).memory;
  }
  return nullptr;
}

std::optional<Gpu> first_gpu(const Drivers& drivers) {
  for (const auto& driver : drivers) {
    const Calls& calls = driver->calls;
    int count = 0;
    if (calls.initialize.function(0U) != success) continue;
    if (calls.count_devices.function(&count) != success || count < 1) continue;
    Kinds& kinds = kinds_of(*driver, 0);
    std::array<char, 256> name{};
    driver->call(calls.device_name, name.data(), static_cast<int>(name.size()) - 1, 0);
    const Device::Current current(kinds.device);
    return Gpu{kinds.memory, name.data(), count, kinds.device.has_kernels()};
  }
  return std::nullopt;
}

MemoryKind* first_used() {
  for (const auto& driver : drivers()) {
    const Calls& calls = driver->calls;
    int count = 0;
    if (calls.count_devices.function(&count) != success) continue;
    for (int number = 0; number < count; ++number) {
      unsigned flags = 0;
      int active = 0;
      const Status status = calls.context_state.function(number, &flags, &active);
      if (status == success && active != 0) return &kinds_of(*driver, number).memory;
    }
  }
  return nullptr;
}

bool is_known(const void* address) {
  const auto knows = [address](const auto& driver) {
    return driver->locate(address).kind != Place::Kind::unknown;
  };
  return std::any_of(drivers().begin(), drivers().end(), knows);
}

void follow_stream(const void* address, std::uintptr_t stream) {
  auto* const followed = reinterpret_cast<void*>(stream);
  for (const auto& driver : drivers()) {
    const Place place = driver->locate(address);
    if (place.kind == Place::Kind::unknown) continue;
    Device& device = kinds_of(*driver, place.number).device;
    const Device::Current current(device);
    if (place.kind == Place::Kind::device) return device.follow(followed);
    return driver->call(driver->calls.await_stream, followed);
  }
  fail(Fault::argument, "a stream was given for a buffer that does not lie in the memory of a GPU");
}

}  // namespace device

MemoryKind& device_memory(const device::Driver& driver, int number) {
  return device::kinds_of(driver, number).memory;
}

MemoryKind* device_memory_among(const device::Drivers& drivers, const void* address) {
  for (const auto& driver : drivers) {
    const device::Place place = driver->locate(address);
    if (place.kind == device::Place::Kind::device) return &device_memory(*driver, place.number);
  }
  return nullptr;
}

}  // namespace vicinal
