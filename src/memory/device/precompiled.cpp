// The code that CUDA's compiler has made of the kernels when vicinal was built, if it was there.
#include "memory/device/compiler.hpp"
#include "memory/device/precompiled_kernels.hpp"

namespace vicinal::device {

std::string_view precompiled_kernels() {
  return {reinterpret_cast<const char*>(precompiled_bytes), sizeof precompiled_bytes - 1};
}

}  // namespace vicinal::device
