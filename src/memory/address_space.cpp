#include "memory/address_space.hpp"

#include <sys/mman.h>

namespace vicinal {

AddressSpace::AddressSpace(std::size_t bytes) noexcept {
  void* base = mmap(nullptr, bytes, PROT_READ | PROT_WRITE,
                    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (base != MAP_FAILED) bytes_ = {static_cast<std::byte*>(base), bytes};
}

AddressSpace::~AddressSpace() {
  if (!bytes_.empty()) munmap(bytes_.data(), bytes_.size());
}

}  // namespace vicinal
