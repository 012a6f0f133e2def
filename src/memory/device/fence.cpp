#include "memory/device/fence.hpp"

#include "memory/device/device.hpp"

namespace vicinal::device {

Fence::Fence(Device& device) : device_(device), event_(device.new_event()) {}

Fence::~Fence() { device_.give_back(device_.driver().calls.destroy_event, event_); }

bool Fence::begin(const std::byte*, std::byte*) {
  count_ = device_.followed();
  if (device_.has_done(count_)) return true;
  const Device::Current current(device_);
  const NoWaitBegins no_wait_begins;
  is_recorded_ = !streams_may_wait();
  // Any of the private streams comes after all that is followed.
  if (is_recorded_) {
    device_.driver().call(device_.driver().calls.record_event, event_, device_.stream());
  }
  return false;
}

bool Fence::poll() {
  if (device_.has_done(count_)) return true;
  const Device::Current current(device_);
  if (!has_happened()) return false;
  device_.note_done(count_);
  return true;
}

bool Fence::has_happened() {
  if (!is_recorded_) return device_.idle_stream() != nullptr;
  const Driver& driver = device_.driver();
  const Status status = driver.calls.query_event.function(event_);
  if (status != success && status != not_ready)
    driver.refuse(driver.calls.query_event.name, status);
  return status == success;
}

}  // namespace vicinal::device
