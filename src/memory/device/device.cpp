#include "memory/device/device.hpp"

#include <algorithm>
#include <exception>
#include <ostream>
#include <utility>

#include "base/error.hpp"
#include "base/log.hpp"
#include "memory/device/compiler.hpp"
#include "memory/device/kernels.hpp"

namespace vicinal::device {

namespace {

/// Flag for streams that do not wait for the program's default stream; both interfaces use this
/// value.
constexpr unsigned non_blocking = 1;
/// Flag for events without timing.
constexpr unsigned without_timing = 2;

/// Capture mode in which a thread may make any call while another thread captures. The private
/// streams are never captured.
constexpr int relaxed_capture = 2;

/// NVIDIA's device attributes.
enum Capability : int { capability_major = 75, capability_minor = 76 };

}  // namespace

Device::RelaxedCapture::RelaxedCapture(const Driver& driver)
    : driver_(driver), mode_(relaxed_capture) {
  // An uninitialized driver has no modes, and nothing captures.
  is_relaxed_ = driver.calls.exchange_capture_mode.function(&mode_) == success;
}

Device::RelaxedCapture::~RelaxedCapture() {
  if (is_relaxed_) driver_.calls.exchange_capture_mode.function(&mode_);
}

Device::Current::Current(Device& device) : relaxed_(device.driver_), device_(device) {
  if (!device.is_set_up_.load(std::memory_order_acquire)) device.connect();
  enter();
  try {
    if (!device.is_set_up_.load(std::memory_order_acquire)) device.make_streams();
  } catch (...) {
    leave();
    throw;
  }
}

Device::Current::~Current() { leave(); }

void Device::Current::enter() {
  const Driver& driver = device_.driver_;
  if (driver.vendor() == Driver::Vendor::nvidia) {
    driver.call(driver.calls.push_context, device_.context_);
  } else {
    driver.call(driver.calls.current_device, &before_);
    driver.call(driver.calls.use_device, device_.number_);
  }
}

void Device::Current::leave() noexcept {
  const Driver& driver = device_.driver_;
  // A failure here is one that was reported before.
  if (driver.vendor() == Driver::Vendor::nvidia) {
    void* left = nullptr;
    driver.calls.pop_context.function(&left);
  } else {
    driver.calls.use_device.function(before_);
  }
}

void Device::connect() {
  const Lock lock(mutex_);
  driver_.call(driver_.calls.initialize, 0U);
  if (driver_.vendor() == Driver::Vendor::nvidia && context_ == nullptr) {
    driver_.call(driver_.calls.retain_context, &context_, number_);
  }
}

void Device::make_streams() {
  const Lock lock(mutex_);
  for (void*& stream : streams_) {
    if (stream == nullptr) driver_.call(driver_.calls.create_stream, &stream, non_blocking);
  }
  is_set_up_.store(true, std::memory_order_release);
}

void Device::give_back(const Entry<void*>& entry, void* what) noexcept {
  // The first failure may belong to an earlier operation, and is reported only once. A second
  // failure means that the device, and all its resources, are lost.
  for (int attempt = 0; attempt < 2; ++attempt) {
    try {
      const Current current(*this);
      entry.function(what);
      return;
    } catch (const std::exception&) {
    }
  }
}

void* Device::stream() {
  return streams_[next_stream_.fetch_add(1, std::memory_order_relaxed) % stream_count];
}

void Device::launch(Move move, void* stream) {
  std::array<void*, 6> arguments{&move.from,    &move.to,    &move.sources,
                                 &move.targets, &move.parts, &move.count};
  const char* const offsets = move.form == Move::Form::words32 ? "_32" : "_64";
  launch(kernel("copy_words_" + std::to_string(move.width) + offsets), move.count << move.parts,
         arguments.data(), stream);
}

void Device::clear(std::byte* memory, std::size_t bytes) {
  void* const stream = set_up_stream();
  try {
    driver_.call(driver_.calls.fill, static_cast<void*>(memory), 0, bytes, stream);
    driver_.call(driver_.calls.await_stream, stream);
  } catch (...) {
    settle(stream);
    throw;
  }
}

void* Device::new_event() const {
  void* event = nullptr;
  driver_.call(driver_.calls.create_event, &event, without_timing);
  return event;
}

bool Device::is_captured(void* stream) const {
  int state = 0;
  driver_.call(driver_.calls.capture_state, stream, &state);
  return state != 0;
}

void Device::follow(void* stream) {
  require(!is_captured(stream), Fault::request,
          "an exchange was to follow a stream that is being captured into a graph; no exchange can "
          "be part of one");
  const Lock lock(mutex_);
  if (followed_ == nullptr) followed_ = new_event();
  driver_.call(driver_.calls.record_event, followed_, stream);
  // Each stream waits for the event as recorded now, even if it is recorded again later.
  for (std::size_t i = 0; i < stream_count; ++i) {
    driver_.call(driver_.calls.have_stream_await, streams_[i], followed_, 0U);
  }
  ++followed_count_;
}

void Device::await_followed() {
  const std::uint64_t count = followed();
  if (has_done(count)) return;
  // This stream waits for the work of all followed streams.
  driver_.call(driver_.calls.await_stream, streams_.front());
  note_done(count);
}

void Device::note_done(std::uint64_t count) {
  std::uint64_t before = done_.load();
  while (before < count && !done_.compare_exchange_weak(before, count)) {
  }
}

std::string Device::architecture() const {
  if (driver_.vendor() == Driver::Vendor::nvidia) {
    int major = 0;
    int minor = 0;
    driver_.call(driver_.calls.device_attribute, &major, int{capability_major}, number_);
    driver_.call(driver_.calls.device_attribute, &minor, int{capability_minor}, number_);
    return "sm_" + std::to_string(major * 10 + minor);
  }
  // Devices of one name have one architecture; AMD's compiler detects it.
  std::array<char, 256> name{};
  driver_.call(driver_.calls.device_name, name.data(), static_cast<int>(name.size()) - 1, number_);
  return name.data();
}

bool Device::has_kernels() {
  const Lock lock(mutex_);
  if (std::exchange(looked_for_kernels_, true)) return module_ != nullptr;
  if (driver_.vendor() == Driver::Vendor::nvidia && !precompiled_kernels().empty()) {
    const void* const ready = precompiled_kernels().data();
    if (driver_.calls.load_module.function(&module_, ready) == success) return true;
  }
  try {
    module_ = nullptr;
    const std::string code = kernel_code(driver_, architecture());
    driver_.call(driver_.calls.load_module, &module_, static_cast<const void*>(code.data()));
  } catch (const Error& error) {
    module_ = nullptr;
    log_line(LogLevel::info, [&](std::ostream& line) {
      line << "device memory: each run of elements is copied by itself, and reductions are the "
              "processor's: "
           << error.what();
    });
  }
  return module_ != nullptr;
}

void* Device::find_kernel(const std::string& name) {
  const auto& find = driver_.calls.find_function;
  const Lock lock(mutex_);
  void*& found = kernels_[name];
  if (found != nullptr) return found;
  const Status status = find.function(&found, module_, name.c_str());
  if (status != success) found = nullptr;
  if (status != success && status != not_found) driver_.refuse(find.name, status);
  return found;
}

void* Device::kernel(const std::string& name) {
  void* const found = find_kernel(name);
  if (found == nullptr) driver_.refuse(driver_.calls.find_function.name, not_found);
  return found;
}

void Device::settle(void* stream) const noexcept {
  // The first failure may not belong to the stream. A second failure means that the device is lost.
  const auto& wait = driver_.calls.await_stream;
  if (wait.function(stream) != success) wait.function(stream);
}

void Device::launch(void* kernel, std::size_t threads, void** arguments, void* stream) const {
  const std::size_t blocks = (threads + threads_per_block - 1) / threads_per_block;
  driver_.call(driver_.calls.launch, kernel,
               static_cast<unsigned>(std::clamp<std::size_t>(blocks, 1, most_blocks)), 1U, 1U,
               threads_per_block, 1U, 1U, 0U, stream, arguments, static_cast<void**>(nullptr));
}

}  // namespace vicinal::device
