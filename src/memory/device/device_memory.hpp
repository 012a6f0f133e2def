// GPU memory as kinds of memory. Each device of a driver has one kind, and one more for the pinned
// host memory that stages its data for MPI. Users find the consequences in docs/gpu.md.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "memory/device/driver.hpp"
#include "memory/kind.hpp"

namespace vicinal {

namespace device {
class Device;

/// Memory of a device.
class DeviceMemory final : public MemoryKind {
 public:
  /// `pinned` is the staging kind.
  DeviceMemory(Device& device, MemoryKind& pinned);
  [[nodiscard]] const char* name() const override { return name_.c_str(); }
  [[nodiscard]] bool is_reachable() const override { return false; }
  [[nodiscard]] const char* mpi_name() const override;
  [[nodiscard]] MemoryKind& staging() override { return pinned_; }
  [[nodiscard]] std::byte* allocate(std::size_t bytes) override;
  void release(std::byte* memory) noexcept override;
  [[nodiscard]] IpcHandle share(std::byte* memory) override;
  [[nodiscard]] std::byte* open_shared(const IpcHandle& handle) override;
  void close_shared(std::byte* memory) noexcept override;
  [[nodiscard]] Lease lend(const std::byte* memory) override;
  [[nodiscard]] bool reaches(const MemoryKind& other, std::int64_t bytes) const override;
  [[nodiscard]] bool pin(std::byte* memory, std::size_t bytes) override;
  void unpin(std::byte* memory) noexcept override;
  void launch() noexcept override;
  void await_followed() override;
  [[nodiscard]] std::unique_ptr<MemoryJob> prepare_fence() override;
  [[nodiscard]] bool is_captured(std::uintptr_t stream) override;
  [[nodiscard]] std::unique_ptr<MemoryJob> prepare_copy(std::span<const CopyRun> runs,
                                                        std::size_t element_bytes,
                                                        Sides inside) override;
  [[nodiscard]] std::unique_ptr<MemoryJob> prepare_reduction(std::span<const CopyRun> runs,
                                                             std::size_t element_bytes, ReduceOp op,
                                                             ElementType type,
                                                             Sides inside) override;

 private:
  Device& device_;
  MemoryKind& pinned_;
  std::string name_;
};

/// A GPU found without an address in its memory.
struct Gpu {
  MemoryKind& memory;
  std::string name;
  int count = 0;             ///< number of devices of its driver
  bool has_kernels = false;  ///< if false, each run of elements is a copy of its own
};
/// Returns the first usable GPU, or nothing. Initializes drivers.
[[nodiscard]] std::optional<Gpu> first_gpu(const Drivers& drivers);

/// Returns the kind of a vendor's first device, by its MPI name; null if there is none.
[[nodiscard]] MemoryKind* first_device(std::string_view mpi_name);

/// Returns the memory of the first GPU whose primary context is active in this process; null if
/// there is none. CUDA's runtime, CuPy, PyTorch and JAX share that context. Initializes no driver
/// except AMD's, whose first call does.
[[nodiscard]] MemoryKind* first_used();
/// Returns whether a driver knows the address, in any kind of memory.
[[nodiscard]] bool is_known(const void* address);
/// Makes later exchanges with the memory of the device of `address` wait for the work now on
/// `stream`; 0 is the default stream. Waits itself only if the processor reaches the address.
/// Throws an argument fault if no driver knows the address.
void follow_stream(const void* address, std::uintptr_t stream);

}  // namespace device

/// Returns the kind of memory of device `number` of a driver.
[[nodiscard]] MemoryKind& device_memory(const device::Driver& driver, int number);

/// As device_memory_at(), for the given drivers.
[[nodiscard]] MemoryKind* device_memory_among(const device::Drivers& drivers, const void* address);

/// Returns the kind of the device that the address lies in; null if it lies in none.
[[nodiscard]] inline MemoryKind* device_memory_at(const void* address) {
  const device::Drivers& drivers = device::drivers();
  return drivers.empty() ? nullptr : device_memory_among(drivers, address);
}

}  // namespace vicinal
