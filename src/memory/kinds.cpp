// The table of kinds of memory.
#include <array>
#include <atomic>

#include "base/error.hpp"
#include "memory/delayed_memory.hpp"
#include "memory/kind.hpp"

namespace vicinal {

namespace {

/// In the order in which they are asked. The first is for what none holds.
constexpr std::array<MemoryKind& (*)(), 2> kinds{
    host_memory,
    []() -> MemoryKind& { return delayed_memory(); },
};

/// What tests have put in the place of the first; null where they have not.
std::atomic<MemoryKind*> instead_of_host = nullptr;

/// The kind that says it holds it, null where none does.
MemoryKind* holder(const void* address) {
  if (address == nullptr) return nullptr;
  for (const auto kind : kinds) {
    if (kind().holds(address)) return &kind();
  }
  return nullptr;
}

MemoryKind& held_by_none() {
  MemoryKind* const kind = instead_of_host.load(std::memory_order_relaxed);
  return kind != nullptr ? *kind : kinds.front()();
}

}  // namespace

MemoryKind& kind_of(const void* address) {
  MemoryKind* const kind = holder(address);
  return kind != nullptr ? *kind : held_by_none();
}

MemoryKind& treat_host_memory_as(MemoryKind& kind) {
  MemoryKind& before = held_by_none();
  instead_of_host.store(&kind, std::memory_order_relaxed);
  return before;
}

void require_reachable(const void* address, const char* what) {
  const MemoryKind* const kind = holder(address);
  if (kind == nullptr || kind->is_reachable()) return;
  fail(Fault::unsupported, "the ", what, " lies in ", kind->name(),
       " memory, which this MPI does not reach; such memory is served where a plan moves it, in "
       "datatypes without gaps");
}

}  // namespace vicinal
