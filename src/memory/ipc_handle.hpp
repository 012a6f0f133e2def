// What a process is given to open memory of another one's.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace vicinal {

/// The drivers' own, 64 bytes with both, whatever they mean.
struct MemoryTicket {
  std::array<std::byte, 64> bytes{};
  friend bool operator==(const MemoryTicket&, const MemoryTicket&) = default;
};

/// Memory that somebody else has allocated: how others open all that was allocated there, and how far in it begins.
struct Lease {
  MemoryTicket ticket;
  std::int64_t offset = 0;  ///< in bytes
};

}  // namespace vicinal
