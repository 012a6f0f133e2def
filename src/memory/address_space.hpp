// Reserved address space. The system allocates a page when it is first written.
#pragma once

#include <cstddef>
#include <span>
#include <utility>

namespace vicinal {

/// Address range for data whose size is not known yet. Empty if the system refuses it; move-only.
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
  /// Never unmaps the range: something may still write to it.
  void leave() noexcept { bytes_ = {}; }

 private:
  std::span<std::byte> bytes_;
};

}  // namespace vicinal
