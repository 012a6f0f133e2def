// Memory of the double's devices: pages that the program cannot access, with a second mapping for
// copies and kernels. Other processes that open it map the same pages.
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <atomic>
#include <cstring>
#include <iterator>
#include <map>
#include <string>
#include <utility>

#include "simulated.hpp"

namespace simulated {

namespace {

struct Allocation {
  Kind kind = Kind::unknown;
  int device = 0;
  std::size_t bytes = 0;
  std::byte* touchable = nullptr;  ///< device memory: the second mapping
  int file = -1;                   ///< device memory: the file that others may map
  std::atomic<long>* users =
      nullptr;  ///< number of other processes that have it open, stored in the file
  bool is_another_process_s = false;
  bool is_pinned = false;  ///< the program's own memory
};

std::map<const std::byte*, Allocation>& allocations() {
  static auto* const all = new std::map<const std::byte*, Allocation>;
  return *all;
}

const std::pair<const std::byte* const, Allocation>* allocation_of(const void* address) {
  const auto* byte = static_cast<const std::byte*>(address);
  auto after = allocations().upper_bound(byte);
  if (after == allocations().begin()) return nullptr;
  const auto& found = *--after;
  return byte < found.first + found.second.bytes ? &found : nullptr;
}

/// Returns the accessible address of a range; null if the range exceeds its allocation.
std::byte* reach(const void* address, std::size_t bytes) {
  auto* const byte = const_cast<std::byte*>(static_cast<const std::byte*>(address));
  const auto* found = allocation_of(address);
  if (found == nullptr) return byte;
  if (byte + bytes > found->first + found->second.bytes) return nullptr;
  std::byte* const touchable = found->second.touchable;
  return touchable != nullptr ? touchable + (byte - found->first) : byte;
}

constexpr std::size_t page = 4096;

/// Returns the position of the number of users in the file.
std::size_t end_of(std::size_t bytes) { return (bytes + page - 1) / page * page; }

/// Maps a file of device memory; returns whether it succeeded.
bool map_device(Allocation& it, const std::byte*& given) {
  const auto map = [&](std::size_t bytes, int protection, std::size_t offset) {
    void* const made =
        mmap(nullptr, bytes, protection, MAP_SHARED, it.file, static_cast<off_t>(offset));
    return made != MAP_FAILED ? static_cast<std::byte*>(made) : nullptr;
  };
  constexpr int all = PROT_READ | PROT_WRITE;
  std::byte* const memory = map(it.bytes, number("open_to_mpi") != 0 ? all : PROT_NONE, 0);
  it.touchable = map(it.bytes, all, 0);
  std::byte* const users = map(page, all, end_of(it.bytes));
  it.users = reinterpret_cast<std::atomic<long>*>(users);
  given = memory;
  if (memory != nullptr && it.touchable != nullptr && users != nullptr) return true;
  if (memory != nullptr) munmap(memory, it.bytes);
  if (it.touchable != nullptr) munmap(it.touchable, it.bytes);
  if (users != nullptr) munmap(users, page);
  return false;
}

/// Unmaps and forgets memory, whichever process allocated it.
void unmap(std::byte* memory, const Allocation& it) {
  munmap(memory, it.bytes);
  if (it.touchable != nullptr) munmap(it.touchable, it.bytes);
  if (it.users != nullptr) munmap(it.users, page);
  if (it.file >= 0) ::close(it.file);
  allocations().erase(memory);
}

Status misused() {
  count("misuses");
  return invalid_value;
}

}  // namespace

Status allocate(Kind kind, int device, std::size_t bytes, void** memory) {
  const Lock lock(mutex());
  if (bytes == 0) return invalid_value;
  Allocation it{kind, device, bytes};
  const std::byte* given = nullptr;
  if (kind == Kind::device) {
    it.file = memfd_create("driver-double", MFD_CLOEXEC);
    const bool there =
        it.file >= 0 && ftruncate(it.file, static_cast<off_t>(end_of(bytes) + page)) == 0;
    if (!there || !map_device(it, given)) {
      if (it.file >= 0) ::close(it.file);
      return out_of_memory;
    }
    // Contents are undefined, as in device memory.
    std::memset(it.touchable, 0xcd, bytes);
  } else {
    void* const made =
        mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (made == MAP_FAILED) return out_of_memory;
    given = static_cast<std::byte*>(made);
  }
  allocations()[given] = it;
  count(kind == Kind::device ? "device_blocks" : "pinned_blocks");
  *memory = const_cast<std::byte*>(given);
  return success;
}

Status release(void* memory) {
  const Lock lock(mutex());
  auto* const byte = static_cast<std::byte*>(memory);
  const auto found = allocations().find(byte);
  if (found == allocations().end() || found->second.is_another_process_s ||
      found->second.is_pinned) {
    return misused();
  }
  const Allocation gone = found->second;
  // Other processes still have it open.
  if (gone.users != nullptr && gone.users->load() > 0) count("misuses");
  count(gone.kind == Kind::device ? "device_blocks" : "pinned_blocks", -1);
  unmap(byte, gone);
  return success;
}

Status pin(void* memory, std::size_t bytes) {
  const Lock lock(mutex());
  if (number("no_admission") != 0) return not_supported;
  auto* const byte = static_cast<std::byte*>(memory);
  const auto after = allocations().lower_bound(byte + bytes);
  const bool overlaps = after != allocations().begin() &&
                        std::prev(after)->first + std::prev(after)->second.bytes > byte;
  if (overlaps) return already_registered;
  // Drivers pin whole pages, which may also hold other data.
  if (bytes == 0 || bytes % page != 0 || reinterpret_cast<std::size_t>(byte) % page != 0) {
    return misused();
  }
  Allocation it{Kind::pinned, 0, bytes};
  it.is_pinned = true;
  allocations()[byte] = it;
  count("pinned_blocks");
  count("admissions");
  return success;
}

Status unpin(void* memory) {
  const Lock lock(mutex());
  const auto found = allocations().find(static_cast<std::byte*>(memory));
  if (found == allocations().end() || !found->second.is_pinned) return misused();
  allocations().erase(found);
  count("pinned_blocks", -1);
  return success;
}

Status see(void** seen, void* memory) {
  *seen = static_cast<std::byte*>(memory) + (number("seen_elsewhere") != 0 ? page : 0);
  return success;
}

Status range(void** begin, std::size_t* bytes, const void* memory) {
  const Lock lock(mutex());
  const auto* found = allocation_of(memory);
  if (found == nullptr || found->second.kind != Kind::device) return not_found;
  *begin = const_cast<std::byte*>(found->first);
  *bytes = found->second.bytes;
  return success;
}

Status share(IpcHandle* handle, void* memory) {
  const Lock lock(mutex());
  const auto found = allocations().find(static_cast<std::byte*>(memory));
  if (number("no_sharing") != 0) return not_supported;
  if (found == allocations().end() || found->second.file < 0) return misused();
  *handle = {getpid(), found->second.file, found->second.device, found->second.bytes, {}};
  return success;
}

Status open(void** memory, const IpcHandle& handle) {
  const Lock lock(mutex());
  if (number("no_opening") != 0) return not_supported;
  if (handle.process == getpid()) return misused();  // drivers do not permit it either
  const std::string path =
      "/proc/" + std::to_string(handle.process) + "/fd/" + std::to_string(handle.file);
  Allocation it{Kind::device, handle.device, handle.bytes};
  it.file = ::open(path.c_str(), O_RDWR | O_CLOEXEC);
  it.is_another_process_s = true;
  const std::byte* given = nullptr;
  if (it.file < 0 || !map_device(it, given)) {
    if (it.file >= 0) ::close(it.file);
    return misused();
  }
  ++*it.users;
  allocations()[given] = it;
  count("opened_blocks");
  *memory = const_cast<std::byte*>(given);
  return success;
}

Status close(void* memory) {
  const Lock lock(mutex());
  auto* const byte = static_cast<std::byte*>(memory);
  const auto found = allocations().find(byte);
  if (found == allocations().end() || !found->second.is_another_process_s) return misused();
  --*found->second.users;
  count("opened_blocks", -1);
  const Allocation gone = found->second;
  unmap(byte, gone);
  return success;
}

Where locate(const void* address) {
  const Lock lock(mutex());
  const auto* found = allocation_of(address);
  if (found == nullptr) return {};
  return {found->second.kind, found->second.device};
}

Status copy(void* to, const void* from, std::size_t bytes) {
  std::byte* const target = reach(to, bytes);
  const std::byte* const source = reach(from, bytes);
  if (target == nullptr || source == nullptr) return illegal_address;
  const auto is_there = [](const void* address) {
    return simulated::locate(address).kind == Kind::device;
  };
  if (is_there(to) != is_there(from)) count("crossings");
  std::memmove(target, source, bytes);
  return success;
}

Status fill(void* memory, int value, std::size_t bytes) {
  std::byte* const target = reach(memory, bytes);
  if (target == nullptr) return illegal_address;
  std::memset(target, value, bytes);
  return success;
}

void* touched_by_kernel(const void* address) {
  if (address == nullptr) return nullptr;
  if (allocation_of(address) == nullptr && number("reaches_host") == 0) return nullptr;
  return reach(address, 0);
}

}  // namespace simulated
