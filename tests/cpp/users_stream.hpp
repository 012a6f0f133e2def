// A stream of the user's, by the driver itself.
#pragma once

#include "arrays.hpp"
#include "driver_double.hpp"
#include "memory/device/device.hpp"

namespace vicinal::testing {

class UsersStream {
 public:
  explicit UsersStream(const DriverDouble& gpu) : gpu_(gpu), device_(gpu.driver(), 0) {
    const device::Device::Current current(device_);
    gpu_.driver().call(gpu_.driver().calls.create_stream, &stream_, 0U);
  }
  [[nodiscard]] void* stream() const { return stream_; }
  [[nodiscard]] std::uintptr_t handle() const { return reinterpret_cast<std::uintptr_t>(stream_); }
  /// Begins to fill four numbers.
  void fill(const DeviceArray& array, int byte) {
    const device::Device::Current current(device_);
    gpu_.driver().call(gpu_.driver().calls.fill, static_cast<void*>(array.data()), byte,
                       std::size_t{32}, stream_);
  }
  /// Begins to copy numbers.
  void copy(const DeviceArray& to, const DeviceArray& from, std::size_t count = 4) {
    const device::Device::Current current(device_);
    gpu_.driver().copy(to.data(), from.data(), count * sizeof(std::int64_t), stream_);
  }
  void be_followed(const DeviceArray& array) const {
    device::follow_stream(array.data(), handle());
  }
  /// Waits for all that is on it.
  void await() {
    const device::Device::Current current(device_);
    gpu_.driver().call(gpu_.driver().calls.await_stream, stream_);
  }

 private:
  const DriverDouble& gpu_;
  device::Device device_;
  void* stream_ = nullptr;
};

}  // namespace vicinal::testing
