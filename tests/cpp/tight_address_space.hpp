#pragma once

#include <malloc.h>
#include <sys/resource.h>

#include <cstdint>
#include <fstream>

#include "check.hpp"

namespace vicinal::testing {

/// Whether a GPU reaches the heap (program_on_gpu.hpp): pages that were given back and taken again would not be those it reaches.
inline bool heap_has_to_stay = false;

/// For a case that wants blocks of less than 32 MiB to fail.
inline void need_tight_heap() {
  if (heap_has_to_stay) skip("needs a heap whose free pages are given back");
}

/// Lets the address space of this process grow by so little only. What malloc() keeps of blocks that were freed may still serve
/// those of up to 32 MiB; larger ones come from new address space.
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
