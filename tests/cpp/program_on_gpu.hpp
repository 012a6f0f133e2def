// Registers the program's own memory with the GPU driver, so that tests of host buffers become
// tests of GPU buffers. The heap, the first stack and the variables count as the GPU's. All other
// memory remains host memory.
#pragma once

#include <malloc.h>
#include <unistd.h>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "driver_double.hpp"
#include "memory/kind.hpp"
#include "tight_address_space.hpp"

namespace vicinal::testing {

/// Keeps the heap in one piece, as large as tests need. Must be the first call of the program.
inline void keep_heap_together() {
  heap_has_to_stay = true;
  mallopt(M_MMAP_THRESHOLD, 32 << 20);  // larger blocks may lie outside it, in host memory
  mallopt(M_ARENA_MAX, 1);
  mallopt(M_TRIM_THRESHOLD, 1 << 30);
  mallopt(M_TOP_PAD, 192 << 20);
  free(malloc(1 << 20));
}

namespace detail {
inline const device::Driver* of_program = nullptr;

/// Touches the stack as deep as tests go.
inline void touch_stack() {
  std::array<volatile char, 1 << 20> room;
  for (std::size_t i = 0; i < room.size(); i += 4096) room[i] = 1;
}

struct Stretch {
  std::byte* begin = nullptr;
  std::size_t bytes = 0;
};

inline std::vector<Stretch> writable_memory() {
  std::vector<Stretch> found;
  std::array<char, 4096> program{};
  const ssize_t length = readlink("/proc/self/exe", program.data(), program.size() - 1);
  const std::string name(program.data(), length > 0 ? static_cast<std::size_t>(length) : 0);
  std::ifstream maps("/proc/self/maps");
  for (std::string line; std::getline(maps, line);) {
    std::istringstream words(line);
    std::string range, rights, offset, device, inode, what;
    words >> range >> rights >> offset >> device >> inode >> what;
    if (!rights.starts_with("rw") || (what != "[heap]" && what != "[stack]" && what != name))
      continue;
    const std::size_t begin = std::stoul(range, nullptr, 16);
    const std::size_t end = std::stoul(range.substr(range.find('-') + 1), nullptr, 16);
    found.push_back({reinterpret_cast<std::byte*>(begin), end - begin});
  }
  return found;
}

}  // namespace detail

/// Throws Skipped if there is no GPU.
inline void put_program_on_gpu() {
  MemoryKind& memory = memory_of_a_gpu();
  detail::of_program = device::drivers().front().get();
  detail::touch_stack();
  for (const detail::Stretch& stretch : detail::writable_memory()) {
    if (!memory.pin(stretch.begin, stretch.bytes)) {
      std::fprintf(stderr, "%zu bytes of the program cannot be registered, and stay the host's\n",
                   stretch.bytes);
    }
  }
  treat_host_memory_as(memory, [](const void* address) {
    return detail::of_program->locate(address).kind == device::Place::Kind::pinned;
  });
}

}  // namespace vicinal::testing
