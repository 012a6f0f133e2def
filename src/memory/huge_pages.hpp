// Large arrays that are read and written in no order: in pages of four kilobytes nearly each access would look for its page
// in memory first. So the system is asked for large pages, where it has some; elsewhere nothing changes.
#pragma once

#include <cstddef>

namespace vicinal {

/// As operator new, and for operator delete of the same alignment.
[[nodiscard]] void* allocate_in_huge_pages(std::size_t bytes);
void free_huge_pages(void* memory) noexcept;

/// For a std::vector.
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
