// The pages of an arena's allocations are taken from the system on first use, and returned. Small
// arrays stay in small pages, which they share with other data.
//
// available_memory() reads /proc/meminfo, and the memory limit and usage of each control group from
// the process's own up to the root. It supports version 2, and version 1 under its own mount. A
// group's usage includes file caches, which can be reclaimed, so the result may be too low but not
// too high.
#include "memory/pages.hpp"

#include <fcntl.h>
#include <sys/mman.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <fstream>
#include <limits>
#include <new>
#include <string>

#include "base/error.hpp"
#include "base/guarded.hpp"
#include "memory/arena.hpp"

namespace vicinal {

namespace {

constexpr std::int64_t unlimited = std::numeric_limits<std::int64_t>::max();

std::int64_t of_system(const std::string& root) {
  std::ifstream info(root + "/proc/meminfo");
  std::string word;
  while (info >> word) {
    std::int64_t kibibytes = 0;
    if (word == "MemAvailable:" && info >> kibibytes) return kibibytes * 1024;
  }
  return unlimited;
}

/// Returns the number in a file; `unlimited` if there is none ("max", or no file).
std::int64_t number_in(const std::string& path) {
  std::ifstream file(path);
  std::int64_t number = 0;
  return file >> number ? number : unlimited;
}

/// `group` is the path of the process's own group, such as "/" or "/jobs/17".
std::int64_t of_groups(const std::string& mount, std::string group, const char* limit_name,
                       const char* used_name) {
  std::int64_t least = unlimited;
  while (true) {
    if (group == "/") group.clear();
    const std::string folder = mount + group;
    const std::int64_t limit = number_in(folder + limit_name);
    const std::int64_t used = number_in(folder + used_name);
    if (limit != unlimited && used != unlimited) {
      least = std::min(least, std::max(limit - used, std::int64_t{0}));
    }
    if (group.empty()) return least;
    const std::size_t parent = group.rfind('/');
    group.resize(parent == std::string::npos ? 0 : parent);
  }
}

constexpr std::size_t huge_page = std::size_t{1} << 21;
constexpr std::size_t cache_line = 64;
constexpr std::size_t worth_it = 2 * huge_page;

constexpr std::int64_t large_request = std::int64_t{64} << 20;

}  // namespace

std::int64_t available_memory(const std::string& root) {
  std::int64_t least = of_system(root);
  const std::string mount = root + "/sys/fs/cgroup";
  std::ifstream groups(root + "/proc/self/cgroup");
  std::string line;  // number:controllers:path
  while (std::getline(groups, line)) {
    const std::size_t first = line.find(':');
    const std::size_t second = line.find(':', first + 1);
    if (second == std::string::npos) continue;
    std::string controllers(",");
    controllers.append(line, first + 1, second - first - 1).push_back(',');
    const std::string path = line.substr(second + 1);
    if (controllers == ",,") {
      least = std::min(least, of_groups(mount, path, "/memory.max", "/memory.current"));
    } else if (controllers.find(",memory,") != std::string::npos) {
      least = std::min(least, of_groups(mount + "/memory", path, "/memory.limit_in_bytes",
                                        "/memory.usage_in_bytes"));
    }
  }
  return least;
}

void* allocate_in_huge_pages(std::size_t bytes) {
  // Alignment to a cache line serves all sizes, so the first huge page may begin inside the array.
  void* memory = ::operator new(bytes, std::align_val_t{cache_line});
#ifdef MADV_HUGEPAGE
  if (bytes >= worth_it) {
    auto* const begin = static_cast<std::byte*>(memory);
    const auto address = reinterpret_cast<std::uintptr_t>(begin);
    const std::size_t before = (huge_page - address % huge_page) % huge_page;
    const std::size_t inside = (bytes - before) / huge_page * huge_page;
    madvise(begin + before, inside, MADV_HUGEPAGE);  // a hint: a refusal changes nothing
  }
#endif
  return memory;
}

void free_huge_pages(void* memory) noexcept {
  ::operator delete(memory, std::align_val_t{cache_line});
}

AddressSpace::AddressSpace(std::size_t bytes) noexcept {
  void* base = mmap(nullptr, bytes, PROT_READ | PROT_WRITE,
                    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (base != MAP_FAILED) bytes_ = {static_cast<std::byte*>(base), bytes};
}

AddressSpace::~AddressSpace() {
  if (!bytes_.empty()) munmap(bytes_.data(), bytes_.size());
}

int reserve(int descriptor, std::int64_t begin, std::int64_t bytes) {
  int result = 0;
  do {
    result = fallocate(descriptor, 0, begin, bytes);
  } while (result != 0 && errno == EINTR);
  return result;
}

/// Ensures that [begin, end), within one window, has pages and that they are zero. Fresh pages are
/// zero.
void Arena::back_zeroed(std::int64_t begin, std::int64_t end) {
  const std::size_t number = level_of(begin);
  const std::int64_t window = levels_[number].of(index_);
  const std::int64_t chunk = levels_[number].chunk();
  std::vector<bool>& backed = backed_[number];
  const auto first = static_cast<std::size_t>((begin - window) / chunk);
  const auto last = static_cast<std::size_t>((end - 1 - window) / chunk);
  if (backed.size() <= last) backed.resize(last + 1, false);
  const auto start_of = [&](std::size_t index) {
    return window + static_cast<std::int64_t>(index) * chunk;
  };
  for (std::size_t i = first; i <= last;) {
    std::size_t stop = i + 1;
    while (stop <= last && backed[stop] == backed[i]) ++stop;
    if (backed[i]) {
      const std::int64_t from = std::max(begin, start_of(i));
      const std::int64_t to = std::min(end, start_of(stop));
      std::memset(at(from), 0, static_cast<std::size_t>(to - from));
    } else {
      const std::int64_t bytes = start_of(stop) - start_of(i);
      if (bytes >= large_request) {
        const std::int64_t available = available_memory();
        require(bytes <= available, Fault::memory, "no room for ", bytes,
                " bytes of shared memory: the system has ", available, " bytes available");
      }
      if (reserve(descriptor_, start_of(i), bytes) != 0) {
        fail(Fault::memory, "no room for ", bytes,
             " bytes of shared memory: ", std::strerror(errno));
      }
      std::fill(backed.begin() + static_cast<std::ptrdiff_t>(i),
                backed.begin() + static_cast<std::ptrdiff_t>(stop), true);
    }
    i = stop;
  }
}

/// Returns the pages of whole chunks in the free range [begin, end) of one window. If the system
/// cannot free them, they stay marked as backed and are zeroed on reuse.
void Arena::give_back(std::int64_t begin, std::int64_t end) {
  const std::size_t number = level_of(begin);
  const std::int64_t window = levels_[number].of(index_);
  const std::int64_t chunk = levels_[number].chunk();
  std::vector<bool>& backed = backed_[number];
  const std::int64_t first = round_up(begin - window, chunk) / chunk;
  const std::int64_t last = (end - window) / chunk;
  const auto known = std::min(last, static_cast<std::int64_t>(backed.size()));
  for (std::int64_t i = first; i < known;) {
    std::int64_t stop = i + 1;
    if (!backed[static_cast<std::size_t>(i)]) {
      i = stop;
      continue;
    }
    while (stop < known && backed[static_cast<std::size_t>(stop)]) ++stop;
    if (fallocate(descriptor_, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, window + i * chunk,
                  (stop - i) * chunk) == 0) {
      std::fill(backed.begin() + i, backed.begin() + stop, false);
    }
    i = stop;
  }
}

std::int64_t Arena::allocated_bytes() const {
  const Lock lock(books_);
  std::int64_t sum = 0;
  for (const auto& [offset, bytes] : live_) sum += bytes;
  return sum;
}

std::int64_t Arena::resident_bytes() const {
  const Lock lock(books_);
  std::int64_t sum = 0;
  for (std::size_t level = 0; level < levels_.size(); ++level) {
    const auto chunks = std::count(backed_[level].begin(), backed_[level].end(), true);
    sum += chunks * levels_[level].chunk();
  }
  return sum;
}

}  // namespace vicinal
