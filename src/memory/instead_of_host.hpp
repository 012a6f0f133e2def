// For tests that want all buffers of a program to be of another kind.
#pragma once

#include "memory/kind.hpp"

namespace vicinal {

/// As the other function of that name, but only what `which` says.
MemoryKind& treat_host_memory_as(MemoryKind& kind, bool (*which)(const void* address));

}  // namespace vicinal
