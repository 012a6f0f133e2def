// Memory still available to this process. A request beyond it does not fail: the system kills
// processes.
#pragma once

#include <cstdint>
#include <string>

namespace vicinal {

/// Bytes that the system and this process's control groups can still provide; the largest number if
/// they do not say. `root` is the directory that contains /proc and /sys.
std::int64_t available_memory(const std::string& root = "");

}  // namespace vicinal
