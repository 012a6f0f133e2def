// What a process is given to open memory of another one's.
#pragma once

#include <array>
#include <cstddef>

namespace vicinal {

/// The drivers' own, 64 bytes with both, whatever they mean.
struct MemoryTicket {
  std::array<std::byte, 64> bytes{};
};

}  // namespace vicinal
