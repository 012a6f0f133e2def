#include "memory/device/fence.hpp"

#include "memory/device/device.hpp"

namespace vicinal::device {

Fence::Fence(Device& device) : device_(device), event_(device.new_event()) {}

Fence::~Fence() { device_.give_back(device_.driver().calls.destroy_event, event_); }

bool Fence::begin(const std::byte*, std::byte*) {
  count_ = device_.followed();
  if (device_.has_done(count_)) return true;
  const Device::Current current(device_);
  // Any of the private streams comes after all that is followed.
  device_.driver().call(device_.driver().calls.record_event, event_, device_.stream());
  return false;
}

bool Fence::poll() {
  if (device_.has_done(count_)) return true;
  const Device::Current current(device_);
  const Driver& driver = device_.driver();
  const Status status = driver.calls.query_event.function(event_);
  if (status == not_ready) return false;
  if (status != success) driver.refuse(driver.calls.query_event.name, status);
  device_.note_done(count_);
  return true;
}

}  // namespace vicinal::device
