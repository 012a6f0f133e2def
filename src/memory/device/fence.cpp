#include "memory/device/fence.hpp"

#include "memory/device/device.hpp"

namespace vicinal::device {

Fence::Fence(Device& device) : device_(device), event_(device.new_event()) {}

Fence::~Fence() { device_.give_back(device_.driver().calls.destroy_event, event_); }

bool Fence::begin(const std::byte*, std::byte*) {
  count_ = device_.followed();
  if (device_.has_done(count_)) return true;
  const Device::Current current(device_);
  device_.driver().call(device_.driver().calls.record_event, event_, device_.first_stream());
  return false;
}

bool Fence::poll() {
  if (device_.has_done(count_)) return true;
  const Device::Current current(device_);
  if (!device_.driver().is_done(device_.driver().calls.query_event, event_)) return false;
  device_.note_done(count_);
  return true;
}

}  // namespace vicinal::device
