// How far kernels of a GPU reach.
#pragma once

#include <cstdint>

namespace vicinal::device {

/// Up to so many bytes a kernel moves to and from the host's pinned memory by itself. More are gathered, or scattered, on the GPU,
/// and copied: on an H100 kernels have moved 14 to 24 GB/s, copies 52, but a copy takes 7 us more (docs/gpu.md).
inline constexpr std::int64_t most_by_kernel = std::int64_t{256} << 10;

}  // namespace vicinal::device
