// Maps memory twice, and runs jobs with a delay.
#include "memory/delayed_memory.hpp"

#include <sys/mman.h>
#include <unistd.h>

#include "base/error.hpp"
#include "base/guarded.hpp"
#include "base/no_destructor.hpp"

namespace vicinal {

/// A job with one list of copies or of reductions.
template <class Runs>
class DelayedMemory::Delayed final : public MemoryJob {
 public:
  Delayed(DelayedMemory& memory, Runs runs) : memory_(memory), runs_(std::move(runs)) {}
  Delayed(const Delayed&) = delete;
  Delayed& operator=(const Delayed&) = delete;
  ~Delayed() override { drop(); }

  bool begin(const std::byte* from, std::byte* to) override {
    from_ = memory_.reach(from);
    to_ = memory_.reach(to);
    // Some jobs finish at once, others after a few polls, as with near and far neighbors.
    polls_left_ = static_cast<int>(memory_.begun_.fetch_add(1) * 7919U % 13U % 6U);
    in_progress_ = true;
    memory_.in_progress_.fetch_add(1);
    return poll();
  }
  bool poll() override {
    if (memory_.held_.load() || polls_left_-- > 0) return false;
    drop();
    require(!memory_.fails_.exchange(false), Fault::memory, "a job of delayed memory fails");
    run(runs_, from_, to_);
    return true;
  }
  void drop() noexcept override {
    if (std::exchange(in_progress_, false)) memory_.in_progress_.fetch_sub(1);
  }

 private:
  DelayedMemory& memory_;
  Runs runs_;
  const std::byte* from_ = nullptr;
  std::byte* to_ = nullptr;
  int polls_left_ = 0;
  bool in_progress_ = false;
};

DelayedMemory& delayed_memory() {
  static NoDestructor<DelayedMemory> kind;
  return *kind;
}

std::byte* DelayedMemory::touchable(const std::byte* address) const {
  if (allocated_.load() == 0) return nullptr;
  const Lock lock(mutex_);
  auto after = mappings_.upper_bound(address);
  if (after == mappings_.begin()) return nullptr;
  const auto& [first, mapping] = *--after;
  return address < first + mapping.bytes ? mapping.touchable + (address - first) : nullptr;
}

std::byte* DelayedMemory::reach(const std::byte* address) const {
  std::byte* const found = touchable(address);
  return found != nullptr ? found : const_cast<std::byte*>(address);
}

std::byte* DelayedMemory::allocate(std::size_t bytes) {
  const int file = memfd_create("vicinal-delayed", MFD_CLOEXEC);
  void* guarded = MAP_FAILED;
  void* counterpart = MAP_FAILED;
  if (file >= 0 && ftruncate(file, static_cast<off_t>(bytes)) == 0) {
    guarded = mmap(nullptr, bytes, PROT_NONE, MAP_SHARED, file, 0);
    counterpart = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  }
  if (file >= 0) close(file);
  if (guarded == MAP_FAILED || counterpart == MAP_FAILED) {
    for (void* const mapping : {guarded, counterpart}) {
      if (mapping != MAP_FAILED) munmap(mapping, bytes);
    }
    fail(Fault::memory, "no delayed memory of ", bytes, " bytes can be had");
  }
  auto* const memory = static_cast<std::byte*>(guarded);
  const Lock lock(mutex_);
  mappings_.insert({memory, {bytes, static_cast<std::byte*>(counterpart)}});
  allocated_.fetch_add(1);
  return memory;
}

void DelayedMemory::release(std::byte* memory) noexcept {
  const Lock lock(mutex_);
  const auto found = mappings_.find(memory);
  munmap(found->second.touchable, found->second.bytes);
  munmap(memory, found->second.bytes);
  mappings_.erase(found);
  allocated_.fetch_sub(1);
}

std::unique_ptr<MemoryJob> DelayedMemory::prepare_copy(std::span<const CopyRun> runs,
                                                       std::size_t element_bytes, Sides) {
  return std::make_unique<Delayed<CompiledRuns>>(*this, compile(runs, element_bytes));
}

std::unique_ptr<MemoryJob> DelayedMemory::prepare_reduction(std::span<const CopyRun> runs,
                                                            std::size_t element_bytes, ReduceOp op,
                                                            ElementType type, Sides) {
  return std::make_unique<Delayed<CompiledReduction>>(
      *this, compile_reduction(runs, element_bytes, op, type));
}

}  // namespace vicinal
