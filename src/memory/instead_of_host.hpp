// For tests that treat all buffers of a program as another kind of memory.
#pragma once

#include "memory/kind.hpp"

namespace vicinal {

/// As treat_host_memory_as(kind), but only for addresses that satisfy `which`.
MemoryKind& treat_host_memory_as(MemoryKind& kind, bool (*which)(const void* address));

}  // namespace vicinal
