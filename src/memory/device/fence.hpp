// A job of a device that moves nothing: it is over when what streams that are followed had to do by its beginning is.
#pragma once

#include <cstdint>

#include "memory/kind.hpp"

namespace vicinal::device {

class Device;

class Fence final : public MemoryJob {
 public:
  /// The device is the current one.
  explicit Fence(Device& device);
  Fence(const Fence&) = delete;
  Fence& operator=(const Fence&) = delete;
  ~Fence() override;

  bool begin(const std::byte* from, std::byte* to) override;
  bool poll() override;
  /// Nothing is touched.
  void drop() noexcept override {}

 private:
  Device& device_;
  void* event_;
  std::uint64_t count_ = 0;  ///< of what was followed by its beginning
};

}  // namespace vicinal::device
