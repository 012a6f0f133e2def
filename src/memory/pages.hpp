// Pages of memory, as the system gives them: those of an arena's file, huge ones, and reserved
// address space. The arena's parts and users of whole pages share the operations on its file. A
// request beyond the available memory does not fail: the system kills processes. The system
// allocates a page of reserved address space when it is first written.
//
// Huge pages are for large arrays with random access: with pages of 4 KiB nearly every access would
// miss the TLB. The request is a hint to the system; without huge pages nothing else changes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <utility>

namespace vicinal {

inline constexpr std::int64_t page_bytes = 4096;

constexpr std::int64_t round_up(std::int64_t value, std::int64_t unit) {
  return (value + unit - 1) / unit * unit;
}

/// Allocates the pages of a range of a file. Returns 0, or -1 with errno.
int reserve(int descriptor, std::int64_t begin, std::int64_t bytes);

/// Bytes that the system and this process's control groups can still provide; the largest number if
/// they do not say. `root` is the directory that contains /proc and /sys.
std::int64_t available_memory(const std::string& root = "");

/// As operator new. free_huge_pages() releases the memory.
[[nodiscard]] void* allocate_in_huge_pages(std::size_t bytes);
void free_huge_pages(void* memory) noexcept;

/// Allocator for std::vector.
template <class Value>
struct HugePages {
  using value_type = Value;
  HugePages() = default;
  template <class Other>
  HugePages(const HugePages<Other>&) {}
  Value* allocate(std::size_t count) {
    return static_cast<Value*>(allocate_in_huge_pages(count * sizeof(Value)));
  }
  void deallocate(Value* memory, std::size_t) noexcept { free_huge_pages(memory); }
  template <class Other>
  bool operator==(const HugePages<Other>&) const {
    return true;
  }
};

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
