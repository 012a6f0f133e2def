// Limit of the direct access of GPU kernels to host memory.
#pragma once

#include <cstdint>

namespace vicinal::device {

/// Up to this many bytes a kernel moves directly to and from pinned host memory. More data are
/// gathered or scattered on the GPU, and copied. On an H100 kernels moved 14 to 24 GB/s and copies
/// 52 GB/s, but a copy takes 7 us longer (docs/gpu.md).
inline constexpr std::int64_t most_by_kernel = std::int64_t{256} << 10;

}  // namespace vicinal::device
