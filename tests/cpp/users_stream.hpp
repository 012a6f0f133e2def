// A user's stream, created through the driver itself.
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
  /// Captures the work put on the stream into a graph, until end_capture(). For NVIDIA only.
  void begin_capture() { call("cuStreamBeginCapture_v2", stream_, 0); }
  void end_capture() {
    void* graph = nullptr;
    call("cuStreamEndCapture", stream_, &graph);
  }
  [[nodiscard]] bool is_idle() {
    const device::Device::Current current(device_);
    return gpu_.driver().calls.query_stream.function(stream_) == device::success;
  }
  /// Waits for all work on the stream, and retries after errors.
  void try_await() {
    while (true) {
      try {
        return await();
      } catch (const Error&) {
      }
    }
  }
  /// Waits for all work on the stream.
  void await() {
    const device::Device::Current current(device_);
    gpu_.driver().call(gpu_.driver().calls.await_stream, stream_);
  }

 private:
  /// Calls a driver function that the library itself does not use.
  template <class... Arguments>
  void call(const char* name, Arguments... arguments) const {
    void* const found = gpu_.driver().library().find(name);
    CHECK(found != nullptr);
    CHECK_EQUAL(reinterpret_cast<int (*)(Arguments...)>(found)(arguments...), 0);
  }

  const DriverDouble& gpu_;
  device::Device device_;
  void* stream_ = nullptr;
};

}  // namespace vicinal::testing
