// The memory of GPUs as kinds: one for each device of a driver, and with each the host's pinned memory in which data
// wait between it and MPI. docs/gpu.md says what that means for users.
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

/// Of a device.
class DeviceMemory final : public MemoryKind {
 public:
  /// In the order of a stream of the device's; `pinned` is its staging.
  DeviceMemory(Device& device, MemoryKind& pinned);
  [[nodiscard]] const char* name() const override { return name_.c_str(); }
  [[nodiscard]] bool is_reachable() const override { return false; }
  [[nodiscard]] const char* mpi_name() const override;
  [[nodiscard]] MemoryKind& staging() override { return pinned_; }
  [[nodiscard]] std::byte* allocate(std::size_t bytes) override;
  void release(std::byte* memory) noexcept override;
  [[nodiscard]] MemoryTicket share(std::byte* memory) override;
  [[nodiscard]] std::byte* open_shared(const MemoryTicket& ticket) override;
  void close_shared(std::byte* memory) noexcept override;
  [[nodiscard]] Lease lend(const std::byte* memory) override;
  [[nodiscard]] bool reaches(const MemoryKind& other, std::int64_t bytes) const override;
  [[nodiscard]] bool admit(std::byte* memory, std::size_t bytes) override;
  void dismiss(std::byte* memory) noexcept override;
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

/// A GPU that somebody looks for, in the place of one that has an address.
struct Gpu {
  MemoryKind& memory;
  std::string name;
  int count = 0;             ///< of its driver's
  bool has_kernels = false;  ///< or else each run of elements is copied by itself
};
/// The first that there is; initialises drivers. Nothing where there is none, or none that can be used.
[[nodiscard]] std::optional<Gpu> first_gpu(const Drivers& drivers);

/// The kind of the first device of a vendor, as MPI calls it; null where there is none.
[[nodiscard]] MemoryKind* first_device(std::string_view mpi_name);

/// The memory of the first GPU that somebody in this process uses, as far as that is known: the context of one that runtimes, CuPy,
/// PyTorch and JAX have in common is there. Null where there is none. Initialises no driver, but for AMD's, whose first call does.
[[nodiscard]] MemoryKind* first_used();
/// Whether a driver knows an address, in whichever kind of memory.
[[nodiscard]] bool is_known(const void* address);
/// What exchanges do with memory of the device that an address lies on comes, from now on, after what its owner has put
/// on a stream so far; 0 is the default stream. Waits only where the processor reaches the address. Throws an
/// argument fault where no driver knows it.
void follow_stream(const void* address, std::uintptr_t stream);

}  // namespace device

/// The kind of memory of device `number` of a driver.
[[nodiscard]] MemoryKind& device_memory(const device::Driver& driver, int number);

/// Asks the drivers that there are.
[[nodiscard]] MemoryKind* device_memory_among(const device::Drivers& drivers, const void* address);

/// The kind of the device that an address lies in; null where it lies in none.
[[nodiscard]] inline MemoryKind* device_memory_at(const void* address) {
  const device::Drivers& drivers = device::drivers();
  return drivers.empty() ? nullptr : device_memory_among(drivers, address);
}

}  // namespace vicinal
