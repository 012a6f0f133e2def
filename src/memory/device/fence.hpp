// A device job that moves nothing. It finishes when the followed streams have done the work that
// they had when it began.
#pragma once

#include <cstdint>

#include "memory/kind.hpp"

namespace vicinal::device {

class Device;

class Fence final : public MemoryJob {
 public:
  /// The device must be current.
  explicit Fence(Device& device);
  Fence(const Fence&) = delete;
  Fence& operator=(const Fence&) = delete;
  ~Fence() override;

  bool begin(const std::byte* from, std::byte* to) override;
  bool poll() override;
  /// Does nothing: the job accesses no memory.
  void drop() noexcept override {}

 private:
  Device& device_;
  void* event_;
  std::uint64_t count_ = 0;  ///< calls of Device::follow() before it began
};

}  // namespace vicinal::device
