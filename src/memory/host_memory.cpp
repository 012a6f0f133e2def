// The host's memory: the processor moves it, and MPI reaches it.
#include <cstring>
#include <new>

#include "base/error.hpp"
#include "memory/kind.hpp"

namespace vicinal {

namespace {

constexpr std::align_val_t alignment{64};

class HostMemory final : public MemoryKind {
 public:
  [[nodiscard]] const char* name() const override { return "host"; }
  /// What other kinds do not hold is the host's: nobody need be asked.
  [[nodiscard]] bool holds(const void*) const override { return false; }
  [[nodiscard]] bool is_reachable() const override { return true; }
  [[nodiscard]] MemoryKind& staging() override { return *this; }

  [[nodiscard]] std::byte* allocate(std::size_t bytes) override {
    void* const memory = ::operator new(bytes, alignment, std::nothrow);
    require(memory != nullptr, Fault::memory, "no memory for ", bytes, " bytes of data to pass on");
    return static_cast<std::byte*>(std::memset(memory, 0, bytes));
  }
  void release(std::byte* memory) noexcept override { ::operator delete(memory, alignment); }
  [[nodiscard]] std::unique_ptr<MemoryJob> prepare_copy(std::span<const CopyRun>,
                                                        std::size_t) override {
    return nullptr;
  }
  [[nodiscard]] std::unique_ptr<MemoryJob> prepare_reduction(std::span<const CopyRun>, std::size_t,
                                                             ReduceOp, ElementType) override {
    return nullptr;
  }
};

}  // namespace

MemoryKind& host_memory() {
  static auto* const kind = new HostMemory;
  return *kind;
}

}  // namespace vicinal
