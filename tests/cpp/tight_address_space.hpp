#pragma once

#include <malloc.h>
#include <sys/resource.h>

#include <cstdint>
#include <fstream>

#include "check.hpp"

namespace vicinal::testing {

/// True if a GPU accesses the heap (program_on_gpu.hpp). Pages returned to the system and taken
/// again would lose their registration.
inline bool heap_has_to_stay = false;

/// Skips a case that needs allocations of less than 32 MiB to fail.
inline void need_tight_heap() {
  if (heap_has_to_stay) skip("needs a heap whose free pages are given back");
}

/// Limits the growth of this process's address space to `room` bytes. malloc() may still serve
/// blocks of up to 32 MiB from freed memory; larger ones need new address space.
class TightAddressSpace {
 public:
  explicit TightAddressSpace(std::int64_t room) {
    if (!heap_has_to_stay) malloc_trim(0);
    std::ifstream statm("/proc/self/statm");
    std::int64_t pages = 0;
    statm >> pages;
    getrlimit(RLIMIT_AS, &before_);
    const rlimit tight{static_cast<rlim_t>(pages * 4096 + room), before_.rlim_max};
    setrlimit(RLIMIT_AS, &tight);
  }
  TightAddressSpace(const TightAddressSpace&) = delete;
  TightAddressSpace& operator=(const TightAddressSpace&) = delete;
  ~TightAddressSpace() { setrlimit(RLIMIT_AS, &before_); }

 private:
  rlimit before_{};
};

}  // namespace vicinal::testing
