// How much memory can still be had. A request beyond it would not fail, but end processes.
#pragma once

#include <cstdint>
#include <string>

namespace vicinal {

/// What the system and the control groups of this process could still give, where they say; otherwise the
/// largest number. `root` is where /proc and /sys are found.
std::int64_t available_memory(const std::string& root = "");

}  // namespace vicinal
