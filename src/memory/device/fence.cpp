#include "memory/device/fence.hpp"

#include "memory/device/device.hpp"

namespace vicinal::device {

Fence::Fence(Device& device) : device_(device), event_(device.new_event()) {}

Fence::~Fence() { device_.give_back(device_.driver().calls.destroy_event, event_); }

bool Fence::begin(const std::byte*, std::byte*) {
  count_ = device_.followed();
  if (device_.has_done(count_)) return true;
  const Device::Current current(device_);
  record();
  return false;
}

void Fence::record() {
  const NoWaitBegins no_wait_begins;
  // Any of the private streams comes after all that is followed.
  void* const stream = device_.unheld_stream();
  if (stream != nullptr) device_.driver().call(device_.driver().calls.record_event, event_, stream);
  is_recorded_ = stream != nullptr;
}

bool Fence::poll() {
  if (device_.has_done(count_)) return true;
  const Device::Current current(device_);
  if (!has_happened()) return false;
  device_.note_done(count_);
  return true;
}

bool Fence::has_happened() {
  if (!is_recorded_) record();
  if (!is_recorded_) return device_.idle_stream() != nullptr;
  return device_.driver().is_done(device_.driver().calls.query_event, event_);
}

}  // namespace vicinal::device
