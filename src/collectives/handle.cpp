// The table of handles. Its chunks double in size and never move, so readers need no lock.
#include "collectives/handle.hpp"

#include <array>
#include <atomic>
#include <bit>
#include <cstddef>
#include <new>

#include "base/guarded.hpp"

namespace vicinal {

namespace {

// From the lowest bit: the place, the kind (from 1, so that no handle is null), and the number of
// earlier uses of the place.
constexpr int place_bits = 24;
constexpr int kind_bits = 3;
constexpr std::uintptr_t one_use = std::uintptr_t{1} << (place_bits + kind_bits);

constexpr std::size_t first_chunk = 256;
constexpr std::size_t chunk_count = 16;
constexpr std::size_t most_places = first_chunk * ((std::size_t{1} << chunk_count) - 1);
static_assert(most_places <= std::size_t{1} << place_bits);

struct Entry {
  std::atomic<std::uintptr_t> number = 0;  ///< number of the live handle; 0 if there is none
  std::atomic<void*> object = nullptr;
  std::uintptr_t uses = 0;  ///< number of uses, shifted as in a handle
  Entry* next_free = nullptr;
  std::size_t place = 0;
};

/// Never destroyed, and initialized before any static object: programs may free handles in
/// destructors.
struct Table {
  std::array<std::atomic<Entry*>, chunk_count> chunks{};
  Mutex mutex;
  Entry* free VICINAL_GUARDED_BY(mutex) = nullptr;
  std::size_t places VICINAL_GUARDED_BY(mutex) = 0;  ///< number of places used so far
};

constinit Table table;

/// Returns the chunk of a place. Chunk c begins at place first_chunk * (2^c - 1).
std::size_t chunk_of(std::size_t place) {
  return static_cast<std::size_t>(std::bit_width(place / first_chunk + 1)) - 1;
}
std::size_t first_place(std::size_t chunk) { return first_chunk * ((std::size_t{1} << chunk) - 1); }

Entry* entry_at(std::size_t place) noexcept {
  if (place >= most_places) return nullptr;
  const std::size_t chunk = chunk_of(place);
  Entry* const entries = table.chunks[chunk].load(std::memory_order_acquire);
  return entries == nullptr ? nullptr : entries + (place - first_place(chunk));
}

Entry& take_entry() VICINAL_REQUIRES(table.mutex) {
  if (Entry* const entry = table.free; entry != nullptr) {
    table.free = entry->next_free;
    return *entry;
  }
  const std::size_t place = table.places;
  if (place == most_places) throw std::bad_alloc();
  const std::size_t chunk = chunk_of(place);
  if (place == first_place(chunk)) {
    table.chunks[chunk].store(new Entry[first_chunk << chunk], std::memory_order_release);
  }
  ++table.places;
  Entry& entry = *entry_at(place);
  entry.place = place;
  return entry;
}

std::size_t place_of(std::uintptr_t number) {
  return number & ((std::uintptr_t{1} << place_bits) - 1);
}
std::uintptr_t kind_of(std::uintptr_t number) {
  return number >> place_bits & ((std::uintptr_t{1} << kind_bits) - 1);
}
std::uintptr_t bits_of(HandleKind kind) { return static_cast<std::uintptr_t>(kind) + 1; }

}  // namespace

Handle::Handle(HandleKind kind, void* object) {
  const Lock lock(table.mutex);
  Entry& entry = take_entry();
  number_ = entry.uses | bits_of(kind) << place_bits | entry.place;
  entry.uses += one_use;
  entry.object.store(object, std::memory_order_relaxed);
  entry.number.store(number_, std::memory_order_release);
}

void Handle::renew() noexcept {
  // No other thread accesses `uses` while the entry is taken.
  Entry& entry = *entry_at(place_of(number_));
  number_ = entry.uses | (number_ & (one_use - 1));
  entry.uses += one_use;
  entry.number.store(number_, std::memory_order_release);
}

Handle::~Handle() {
  const Lock lock(table.mutex);
  Entry& entry = *entry_at(place_of(number_));
  entry.number.store(0, std::memory_order_release);
  entry.next_free = table.free;
  table.free = &entry;
}

void* Handle::find(std::uintptr_t number, HandleKind kind) noexcept {
  if (kind_of(number) != bits_of(kind)) return nullptr;
  const Entry* const entry = entry_at(place_of(number));
  if (entry == nullptr || entry->number.load(std::memory_order_acquire) != number) return nullptr;
  return entry->object.load(std::memory_order_relaxed);
}

}  // namespace vicinal
