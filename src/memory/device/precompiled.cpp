// Kernel code from CUDA's compiler, if CUDA was present when vicinal was built.
#include "memory/device/compiler.hpp"
#include "memory/device/precompiled_kernels.hpp"

namespace vicinal::device {

std::string_view precompiled_kernels() {
  return {reinterpret_cast<const char*>(precompiled_bytes), sizeof precompiled_bytes - 1};
}

}  // namespace vicinal::device
