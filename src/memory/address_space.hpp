// Address space alone: pages come where something is written.
#pragma once

#include <cstddef>
#include <span>
#include <utility>

namespace vicinal {

/// Room of a size that nobody knows yet. Empty where the system gives none; move-only.
class AddressSpace {
 public:
  AddressSpace() = default;
  explicit AddressSpace(std::size_t bytes) noexcept;
  AddressSpace(AddressSpace&& other) noexcept : bytes_(std::exchange(other.bytes_, {})) {}
  AddressSpace& operator=(AddressSpace&& other) noexcept {
    std::swap(bytes_, other.bytes_);
    return *this;
  }
  AddressSpace(const AddressSpace&) = delete;
  AddressSpace& operator=(const AddressSpace&) = delete;
  ~AddressSpace();
  [[nodiscard]] std::span<std::byte> bytes() const { return bytes_; }
  /// Leaves it to the process, for what may still be written.
  void leave() noexcept { bytes_ = {}; }

 private:
  std::span<std::byte> bytes_;
};

}  // namespace vicinal
