// Tests the arena across real processes: each process reads what another one writes, and nothing is
// left behind.
#include "memory/arena.hpp"

#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <filesystem>
#include <fstream>
#include <functional>
#include <map>
#include <random>
#include <set>
#include <span>
#include <vector>

#include "check.hpp"

namespace vicinal::arena_tests {
namespace {

constexpr std::int64_t small_arena = std::int64_t{1} << 30;

/// Runs `action` in a child process, which exits with 0 if it returns.
pid_t in_child(const std::function<void()>& action) {
  const pid_t child = fork();
  if (child != 0) return child;
  int status = 0;
  try {
    action();
  } catch (const std::exception& error) {
    std::fprintf(stderr, "in a child: %s\n", error.what());
    status = 1;
  }
  _exit(status);
}

int outcome(pid_t child) {
  int status = 0;
  CHECK_EQUAL(waitpid(child, &status, 0), child);
  return status;
}

/// Returns the bytes of address space mapped by arenas.
std::int64_t mapped_bytes() {
  std::ifstream maps("/proc/self/maps");
  std::int64_t sum = 0;
  for (std::string line; std::getline(maps, line);) {
    if (line.find("memfd:vicinal") == std::string::npos) continue;
    const std::size_t dash = line.find('-');
    sum += std::stoll(line.substr(dash + 1), nullptr, 16) - std::stoll(line, nullptr, 16);
  }
  return sum;
}

std::set<std::string> named_objects() {
  std::set<std::string> names;
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator("/dev/shm", error)) {
    const std::string name = entry.path().filename().string();
    if (name.starts_with("vicinal-")) names.insert(name);
  }
  return names;
}

void check_shared(Arena::Backing backing) {
  constexpr int members = 4;
  const auto arena = Arena::create(members, backing, small_arena);
  const std::int64_t board = arena->allocate(members * sizeof(std::int64_t));
  std::vector<pid_t> children;
  for (int index = 1; index < members; ++index) {
    children.push_back(in_child([&, index] {
      const auto mine = Arena::attach(arena->invitation(), index, members);
      const std::int64_t offset = mine->allocate(100000);
      std::memset(mine->at(offset), index, 100000);
      std::memcpy(mine->at(board) + std::ptrdiff_t{8} * index, &offset, 8);
    }));
  }
  for (const pid_t child : children) CHECK_EQUAL(outcome(child), 0);
  arena->seal();
  std::set<std::int64_t> offsets{board};
  for (int index = 1; index < members; ++index) {
    std::int64_t offset = 0;
    std::memcpy(&offset, arena->at(board) + std::ptrdiff_t{8} * index, 8);
    for (const std::int64_t other : offsets) CHECK(std::abs(offset - other) >= 100000);
    offsets.insert(offset);
    for (const int place : {0, 99999}) {
      CHECK_EQUAL(static_cast<int>(arena->at(offset)[place]), index);
    }
  }
}

TEST(arena_is_shared_by_processes) { check_shared(Arena::Backing::nameless); }

TEST(arena_is_shared_by_name_too) {
  const std::set<std::string> before = named_objects();
  check_shared(Arena::Backing::named);
  CHECK(named_objects() == before);
}

TEST(arena_leaves_nothing_behind_a_killed_process) {
  const std::set<std::string> before = named_objects();
  int ready[2];
  CHECK_EQUAL(pipe(ready), 0);
  const pid_t child = in_child([&] {
    const auto arena = Arena::create(2, Arena::Backing::nameless, small_arena);
    std::memset(arena->at(arena->allocate(8 << 20)), 1, 8 << 20);
    const Arena::Invitation invitation = arena->invitation();
    if (write(ready[1], &invitation, sizeof invitation) != sizeof invitation) _exit(2);
    pause();
  });
  Arena::Invitation invitation;
  CHECK_EQUAL(read(ready[0], &invitation, sizeof invitation),
              static_cast<ssize_t>(sizeof invitation));
  close(ready[0]);
  close(ready[1]);
  const auto arena = Arena::attach(invitation, 1, 2);
  CHECK_EQUAL(kill(child, SIGKILL), 0);
  CHECK(WIFSIGNALED(outcome(child)));
  // Existing mappings keep working; new ones are impossible.
  std::memset(arena->at(arena->allocate(1 << 20)), 2, 1 << 20);
  CHECK_THROWS(Fault::memory, Arena::attach(invitation, 1, 2), "/proc/");
  CHECK(named_objects() == before);
}

TEST(arena_names_of_killed_processes_are_taken_away) {
  const std::set<std::string> before = named_objects();
  int ready[2];
  CHECK_EQUAL(pipe(ready), 0);
  const pid_t child = in_child([&] {
    const auto arena = Arena::create(2, Arena::Backing::named, small_arena);
    if (write(ready[1], "", 1) != 1) _exit(2);
    pause();
  });
  char byte = 0;
  CHECK_EQUAL(read(ready[0], &byte, 1), 1);
  close(ready[0]);
  close(ready[1]);
  std::set<std::string> left = named_objects();
  for (const std::string& name : before) left.erase(name);
  CHECK_EQUAL(left.size(), std::size_t{1});
  const std::filesystem::path path = std::filesystem::path("/dev/shm") / *left.begin();
  // The file is an hour old, but its owner is alive.
  const auto old = std::filesystem::last_write_time(path) - std::chrono::hours(1);
  std::filesystem::last_write_time(path, old);
  Arena::create(2, Arena::Backing::named, small_arena);
  CHECK(std::filesystem::exists(path));
  CHECK_EQUAL(kill(child, SIGKILL), 0);
  CHECK(WIFSIGNALED(outcome(child)));
  CHECK(std::filesystem::exists(path));
  Arena::create(2, Arena::Backing::named, small_arena);
  CHECK(!std::filesystem::exists(path));
  CHECK(named_objects() == before);
}

TEST(arena_is_private_and_cannot_be_cut_off) {
  const auto arena = Arena::create(2, Arena::Backing::nameless, small_arena);
  const int file = static_cast<int>(arena->invitation().descriptor);
  struct stat status{};
  CHECK_EQUAL(fstat(file, &status), 0);
  CHECK_EQUAL(status.st_mode & 0777U, 0600U);
  CHECK_EQUAL(ftruncate(file, 4096), -1);
  CHECK_EQUAL(ftruncate(file, small_arena * 2), -1);
  CHECK_EQUAL(fcntl(file, F_ADD_SEALS, F_SEAL_WRITE), -1);
}

TEST(arena_refuses_files_of_other_kinds) {
  const auto arena = Arena::create(2, Arena::Backing::nameless, small_arena);
  const auto invited_to = [&](int descriptor) {
    Arena::Invitation other = arena->invitation();
    other.descriptor = descriptor;
    struct stat status{};
    CHECK_EQUAL(fstat(descriptor, &status), 0);
    other.inode = static_cast<std::int64_t>(status.st_ino);
    return other;
  };
  // Opening this end of the pipe would block forever: no process writes to it.
  int ends[2];
  CHECK_EQUAL(pipe(ends), 0);
  CHECK_THROWS(Fault::memory, Arena::attach(invited_to(ends[0]), 1, 2), "it is pipe:");
  close(ends[0]);
  close(ends[1]);

  // A copy of the header is not enough: the file must also be sealed and private to this user.
  std::vector<std::byte> header(4096);
  std::memcpy(header.data(), arena->at(0), header.size());
  for (const bool sealed : {false, true}) {
    const int file = memfd_create("vicinal", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    CHECK(file >= 0);
    CHECK_EQUAL(ftruncate(file, arena->size()), 0);
    CHECK_EQUAL(pwrite(file, header.data(), header.size(), 0), ssize_t{4096});
    CHECK_EQUAL(fchmod(file, sealed ? 0644 : 0600), 0);
    if (sealed) {
      CHECK_EQUAL(fcntl(file, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL), 0);
    }
    CHECK_THROWS(Fault::memory, Arena::attach(invited_to(file), 1, 2),
                 "not what its creator announced");
    close(file);
  }
}

TEST(arena_takes_address_space_as_it_is_needed) {
  const std::int64_t before = mapped_bytes();
  std::vector<std::unique_ptr<Arena>> arenas;
  for (int i = 0; i < 2000; ++i) {
    arenas.push_back(Arena::create(4));
    const std::int64_t offset = arenas.back()->allocate(1000);
    std::memset(arenas.back()->at(offset), 1, 1000);
  }
  CHECK(mapped_bytes() - before <= 2000 * (std::int64_t{32} << 20));
  // The last arena works as the first.
  const std::int64_t offset = arenas.back()->allocate(std::size_t{100} << 20);
  std::memset(arenas.back()->at(offset), 1, std::size_t{100} << 20);
  CHECK(arenas.back()->size() >= std::int64_t{1} << 40);
  arenas.clear();
  CHECK_EQUAL(mapped_bytes(), before);
}

TEST(arena_windows_of_all_sizes_are_shared) {
  constexpr int members = 3;
  const auto arena = Arena::create(members, Arena::Backing::nameless);
  const std::int64_t board = arena->allocate(64 * sizeof(std::int64_t));
  // Small pieces fill more than the first window; later pieces fit into later windows only.
  const std::vector<std::size_t> sizes{3 << 20, 3 << 20, 3 << 20, 17 << 20, 70 << 20, 1 << 20};
  for (int index = 1; index < members; ++index) {
    CHECK_EQUAL(outcome(in_child([&, index] {
                  const auto mine = Arena::attach(arena->invitation(), index, members);
                  for (std::size_t i = 0; i < sizes.size(); ++i) {
                    const std::int64_t offset = mine->allocate(sizes[i]);
                    mine->at(offset)[0] = std::byte{1};
                    mine->at(offset)[sizes[i] - 1] =
                        static_cast<std::byte>(10 * index + static_cast<int>(i));
                    std::memcpy(mine->at(board) + 8 * (16 * index + static_cast<int>(i)), &offset,
                                8);
                  }
                })),
                0);
  }
  for (int index = 1; index < members; ++index) {
    for (std::size_t i = 0; i < sizes.size(); ++i) {
      std::int64_t offset = 0;
      std::memcpy(&offset, arena->at(board) + 8 * (16 * index + static_cast<int>(i)), 8);
      CHECK_EQUAL(static_cast<int>(arena->at(offset)[0]), 1);
      CHECK_EQUAL(static_cast<int>(arena->at(offset + static_cast<std::int64_t>(sizes[i]) - 1)[0]),
                  10 * index + static_cast<int>(i));
    }
  }
}

TEST(arena_refuses_what_is_not_an_arena) {
  const auto arena = Arena::create(2, Arena::Backing::nameless, small_arena);
  Arena::Invitation other = arena->invitation();
  other.nonce ^= 1;
  CHECK_THROWS(Fault::memory, Arena::attach(other, 1, 2), "not what its creator announced");
  other = arena->invitation();
  other.size *= 2;
  CHECK_THROWS(Fault::memory, Arena::attach(other, 1, 2), "not what its creator announced");
  CHECK_THROWS(Fault::internal, Arena::attach(arena->invitation(), 2, 2), "member 2 of 2");
}

bool is_zero(std::span<const std::byte> bytes) {
  for (const std::byte byte : bytes) {
    if (byte != std::byte{0}) return false;
  }
  return true;
}

TEST(arena_allocations_are_apart_aligned_and_zeroed) {
  const auto arena = Arena::create(3, Arena::Backing::nameless, small_arena);
  std::map<std::int64_t, std::int64_t> live;
  std::mt19937 random(3);
  for (int round = 0; round < 3000; ++round) {
    if (live.size() > 40 || (!live.empty() && random() % 2 == 0)) {
      auto victim = live.begin();
      std::advance(victim, static_cast<long>(random() % live.size()));
      arena->release(victim->first);
      live.erase(victim);
      continue;
    }
    const std::size_t bytes = random() % (random() % 10 == 0 ? 3000000 : 5000);
    const std::size_t alignment = std::size_t{1} << (random() % 13);
    const std::int64_t offset = arena->allocate(bytes, alignment);
    CHECK_EQUAL(offset % static_cast<std::int64_t>(alignment), 0);
    CHECK_EQUAL(offset % 64, 0);
    const auto end = offset + static_cast<std::int64_t>(bytes);
    const auto next = live.lower_bound(offset);
    CHECK(next == live.end() || next->first >= end);
    CHECK(next == live.begin() || std::prev(next)->first + std::prev(next)->second <= offset);
    CHECK(is_zero({arena->at(offset), bytes}));
    std::memset(arena->at(offset), 0xff, bytes);
    live.emplace(offset, static_cast<std::int64_t>(bytes));
  }
  for (const auto& [offset, bytes] : live) arena->release(offset);
  CHECK_EQUAL(arena->allocated_bytes(), 0);
  CHECK_EQUAL(arena->resident_bytes(), 0);
  // All memory is contiguous again.
  const std::int64_t all = arena->allocate(250 << 20);
  CHECK(arena->resident_bytes() >= 250 << 20);
  arena->release(all);
  CHECK_EQUAL(arena->resident_bytes(), 0);
}

TEST(arena_says_what_was_misused) {
  const auto arena = Arena::create(1, Arena::Backing::nameless, small_arena);
  const std::int64_t offset = arena->allocate(10);
  arena->release(offset);
  CHECK_THROWS(Fault::internal, arena->release(offset), "is not allocated");
  CHECK_THROWS(Fault::internal, arena->allocate(10, 48), "aligned to 48");
}

TEST(arena_reports_lack_of_memory) {
  const auto arena = Arena::create(4, Arena::Backing::nameless, small_arena);
  CHECK_THROWS(Fault::memory, arena->allocate(std::size_t{300} << 20), "this rank's part");
  CHECK_THROWS(Fault::memory, arena->allocate(~std::size_t{0}), "this rank's part");
  const std::int64_t offset = arena->allocate(1000);
  arena->release(offset);

  // More memory than the machine has, in an arena that is large enough.
  const auto machine_bytes = static_cast<std::int64_t>(sysconf(_SC_PHYS_PAGES)) * 4096;
  const auto large = Arena::create(1);
  if (large->size() > machine_bytes * 3) {
    CHECK_THROWS(Fault::memory, large->allocate(static_cast<std::size_t>(machine_bytes * 2)),
                 "bytes available");
    CHECK_EQUAL(large->resident_bytes(), 0);
    large->release(large->allocate(1000));
  }
}

TEST(arena_respects_the_limit_on_file_sizes) {
  const pid_t child = in_child([] {
    const rlimit limit{std::size_t{1} << 30, std::size_t{1} << 30};
    CHECK_EQUAL(setrlimit(RLIMIT_FSIZE, &limit), 0);
    const auto arena = Arena::create(4);
    CHECK(arena->size() <= std::int64_t{1} << 30);
    arena->allocate(1 << 20);
    const rlimit none{4096, 4096};
    CHECK_EQUAL(setrlimit(RLIMIT_FSIZE, &none), 0);
    CHECK_THROWS(Fault::memory, Arena::create(4), "ulimit -f");
  });
  CHECK_EQUAL(outcome(child), 0);
}

#if !defined(SANITIZED)
TEST(arena_respects_the_limit_on_address_space) {
  const pid_t child = in_child([] {
    const rlimit limit{std::size_t{8} << 30, std::size_t{8} << 30};
    CHECK_EQUAL(setrlimit(RLIMIT_AS, &limit), 0);
    std::vector<std::unique_ptr<Arena>> arenas;
    for (int i = 0; i < 20; ++i) arenas.push_back(Arena::create(2));
    CHECK(arenas.front()->size() >= std::int64_t{256} << 20);
    CHECK(arenas.back()->size() >= std::int64_t{8} << 20);
    // Other allocations still succeed.
    std::vector<char> other(std::size_t{1} << 30);
    CHECK(other.data() != nullptr);
    // A window that does not fit is refused, and the arena stays unchanged.
    CHECK_THROWS(Fault::memory, arenas.back()->allocate(std::size_t{9} << 30), "ulimit -v");
    CHECK_EQUAL(arenas.back()->allocated_bytes(), 0);
    CHECK_EQUAL(arenas.back()->resident_bytes(), 0);
  });
  CHECK_EQUAL(outcome(child), 0);
}
#endif

}  // namespace
}  // namespace vicinal::arena_tests
