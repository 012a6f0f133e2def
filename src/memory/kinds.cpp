// The table of kinds of memory, and host memory: the processor and MPI access it directly.
#include <array>
#include <atomic>
#include <cstring>
#include <new>

#include "base/error.hpp"
#include "base/no_destructor.hpp"
#include "memory/delayed_memory.hpp"
#include "memory/device/device_memory.hpp"
#include "memory/kind.hpp"

namespace vicinal {

namespace {

/// Functions asked in this order for the kind of an address. Each returns its kind, or null if the
/// address is not of that kind. An address that none recognizes is host memory.
constexpr std::array<MemoryKind* (*)(const void*), 2> finders{
    device_memory_at,
    [](const void* address) -> MemoryKind* {
      return delayed_memory().holds(address) ? &delayed_memory() : nullptr;
    },
};

/// Kind that tests substitute for host memory; null otherwise.
std::atomic<MemoryKind*> instead_of_host = nullptr;
/// Predicate for the addresses that tests substitute; null means all.
std::atomic<bool (*)(const void*)> counts_as_other = nullptr;

/// Returns the kind that a finder names; null if none does.
MemoryKind* holder(const void* address) {
  if (address == nullptr) return nullptr;
  for (const auto find : finders) {
    if (MemoryKind* const kind = find(address); kind != nullptr) return kind;
  }
  return nullptr;
}

MemoryKind& held_by_none() {
  MemoryKind* const kind = instead_of_host.load(std::memory_order_relaxed);
  return kind != nullptr ? *kind : host_memory();
}

}  // namespace

MemoryKind& kind_of(const void* address) {
  if (MemoryKind* const kind = holder(address); kind != nullptr) return *kind;
  const auto which = counts_as_other.load(std::memory_order_relaxed);
  return which == nullptr || which(address) ? held_by_none() : host_memory();
}

MemoryKind& treat_host_memory_as(MemoryKind& kind) {
  MemoryKind& before = held_by_none();
  instead_of_host.store(&kind, std::memory_order_relaxed);
  return before;
}

MemoryKind& treat_host_memory_as(MemoryKind& kind, bool (*which)(const void* address)) {
  counts_as_other.store(which, std::memory_order_relaxed);
  return treat_host_memory_as(kind);
}

bool MemoryJob::have_stream_await(std::uintptr_t) {
  fail(Fault::argument, "a stream was given to wait, but the exchange is not that of a GPU's data");
}

IpcHandle MemoryKind::share(std::byte*) {
  fail(Fault::unsupported, name(), " memory cannot be shared with other processes");
}

std::byte* MemoryKind::open_shared(const IpcHandle&) {
  fail(Fault::unsupported, "memory of other processes cannot be opened as ", name(), " memory");
}

Lease MemoryKind::lend(const std::byte*) {
  fail(Fault::unsupported, name(), " memory cannot be shared with other processes");
}

MemoryKind* kind_called(std::string_view mpi_name) { return device::first_device(mpi_name); }

MemoryKind* kind_out_of_reach(const void* address) {
  MemoryKind& kind = kind_of(address);
  return kind.is_reachable() ? nullptr : &kind;
}

void require_reachable(const void* address, const char* what) {
  const MemoryKind* const kind = holder(address);
  if (kind == nullptr || kind->is_reachable()) return;
  fail(Fault::unsupported, "the ", what, " lies in ", kind->name(),
       " memory, which this MPI does not reach; such memory is served in datatypes without gaps");
}

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
