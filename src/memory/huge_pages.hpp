// Huge pages for large arrays with random access: with pages of 4 KiB nearly every access would
// miss the TLB. The request is a hint to the system; without huge pages nothing else changes.
#pragma once

#include <cstddef>

namespace vicinal {

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

}  // namespace vicinal
