// Small arrays stay in small pages, which they share with other data.
#include "memory/huge_pages.hpp"

#include <cstdint>
#include <new>

#include <sys/mman.h>

namespace vicinal {

namespace {

constexpr std::size_t huge_page = std::size_t{1} << 21;
constexpr std::size_t cache_line = 64;
constexpr std::size_t worth_it = 2 * huge_page;

}  // namespace

void* allocate_in_huge_pages(std::size_t bytes) {
  // Alignment to a cache line serves all sizes, so the first huge page may begin inside the array.
  void* memory = ::operator new(bytes, std::align_val_t{cache_line});
#ifdef MADV_HUGEPAGE
  if (bytes >= worth_it) {
    auto* const begin = static_cast<std::byte*>(memory);
    const auto address = reinterpret_cast<std::uintptr_t>(begin);
    const std::size_t before = (huge_page - address % huge_page) % huge_page;
    const std::size_t inside = (bytes - before) / huge_page * huge_page;
    madvise(begin + before, inside, MADV_HUGEPAGE);  // a hint: a refusal changes nothing
  }
#endif
  return memory;
}

void free_huge_pages(void* memory) noexcept {
  ::operator delete(memory, std::align_val_t{cache_line});
}

}  // namespace vicinal
