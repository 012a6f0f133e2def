// Handles with which a process opens memory of another process.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace vicinal {

/// A driver's own IPC handle: 64 opaque bytes with both drivers.
struct IpcHandle {
  std::array<std::byte, 64> bytes{};
  friend bool operator==(const IpcHandle&, const IpcHandle&) = default;
};

/// Memory inside another owner's allocation: the IPC handle of that allocation, and the offset in
/// it.
struct Lease {
  IpcHandle handle;
  std::int64_t offset = 0;  ///< in bytes
};

}  // namespace vicinal
