// Host memory: the processor and MPI access it directly.
#include <cstring>
#include <new>

#include "base/error.hpp"
#include "base/no_destructor.hpp"
#include "memory/kind.hpp"

namespace vicinal {

namespace {

constexpr std::align_val_t alignment{64};

class HostMemory final : public ReachableMemory {
 public:
  [[nodiscard]] const char* name() const override { return "host"; }

  [[nodiscard]] std::byte* allocate(std::size_t bytes) override {
    void* const memory = ::operator new(bytes, alignment, std::nothrow);
    require(memory != nullptr, Fault::memory, "no memory for ", bytes, " bytes of data to pass on");
    return static_cast<std::byte*>(std::memset(memory, 0, bytes));
  }
  void release(std::byte* memory) noexcept override { ::operator delete(memory, alignment); }
};

}  // namespace

MemoryKind& host_memory() {
  static NoDestructor<HostMemory> kind;
  return *kind;
}

}  // namespace vicinal
