// Creating, joining and sub-allocating the shared mapping. Layout: a header of one page, whose
// nonce tells members that they have opened the right object (a process number means another
// process in another container), then one range of equal size for each member.
#include "memory/arena.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <bit>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <limits>
#include <random>
#include <string>
#include <utility>

#include "base/error.hpp"

namespace vicinal {
namespace {

constexpr std::int64_t chunk = std::int64_t{1} << 20;
constexpr std::int64_t header_bytes = 2 * chunk;
constexpr std::int64_t page = 4096;
constexpr std::int64_t granule = 64;
constexpr std::int64_t largest_arena = std::int64_t{1} << 40;
constexpr std::int64_t all_arenas = std::int64_t{1} << 45;  ///< of the 2^47 bytes a process has
constexpr std::int64_t large_request = std::int64_t{64} << 20;

/// Virtual bytes mapped by all arenas of this process.
std::atomic<std::int64_t> mapped_bytes{0};

struct Header {
  std::uint64_t nonce;
  std::int64_t size;
};

std::int64_t round_up(std::int64_t value, std::int64_t unit) {
  return (value + unit - 1) / unit * unit;
}

std::int64_t limit_of(decltype(RLIMIT_AS) resource) {
  rlimit limit{};
  constexpr std::int64_t none = std::numeric_limits<std::int64_t>::max();
  if (getrlimit(resource, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) return none;
  return static_cast<std::int64_t>(std::min<rlim_t>(limit.rlim_cur, static_cast<rlim_t>(none)));
}

/// A size that leaves room for further arenas, however many there are already. The limit on file
/// sizes counts as well: exceeding it is a signal, not an error code.
std::int64_t reasonable_size() {
  const std::int64_t budget = std::min(all_arenas, limit_of(RLIMIT_AS) / 2);
  const std::int64_t share = std::max<std::int64_t>(budget - mapped_bytes.load(), 0) / 8;
  const std::int64_t size = std::min({largest_arena, share, limit_of(RLIMIT_FSIZE)});
  return static_cast<std::int64_t>(std::bit_floor(static_cast<std::uint64_t>(size)));
}

std::string reason() { return std::strerror(errno); }

/// A descriptor that is closed unless it is kept.
class Descriptor {
 public:
  explicit Descriptor(int value) : value_(value) {}
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  ~Descriptor() {
    if (value_ >= 0) close(value_);
  }
  [[nodiscard]] int get() const { return value_; }
  int keep() { return std::exchange(value_, -1); }

 private:
  int value_;
};

std::byte* map(int descriptor, std::int64_t size) {
  void* base = mmap(nullptr, static_cast<std::size_t>(size), PROT_READ | PROT_WRITE,
                    MAP_SHARED | MAP_NORESERVE, descriptor, 0);
  if (base == MAP_FAILED) return nullptr;
  // A core dump need not walk a terabyte of holes.
  madvise(base, static_cast<std::size_t>(size), MADV_DONTDUMP);
  mapped_bytes += size;
  return static_cast<std::byte*>(base);
}

void unmap(std::byte* base, std::int64_t size) {
  munmap(base, static_cast<std::size_t>(size));
  mapped_bytes -= size;
}

int reserve(int descriptor, std::int64_t begin, std::int64_t bytes) {
  int result = 0;
  do {
    result = fallocate(descriptor, 0, begin, bytes);
  } while (result != 0 && errno == EINTR);
  return result;
}

/// What the system could still give, where it says; a request beyond it would end the process.
std::int64_t available_memory() {
  std::ifstream info("/proc/meminfo");
  std::string word;
  while (info >> word) {
    std::int64_t kibibytes = 0;
    if (word == "MemAvailable:" && info >> kibibytes) return kibibytes * 1024;
  }
  return std::numeric_limits<std::int64_t>::max();
}

std::uint64_t random_number() {
  std::random_device device;
  const std::uint64_t high = device();
  return (high << 32 | device()) ^ static_cast<std::uint64_t>(getpid());
}

}  // namespace

std::unique_ptr<Arena> Arena::create(int members, Backing backing, std::int64_t size) {
  require(members > 0, Fault::internal, "an arena for ", members, " members");
  Invitation invitation;
  invitation.pid = getpid();
  invitation.members = members;
  invitation.nonce = random_number();
  const std::int64_t smallest = header_bytes + members * chunk;
  size = size > 0 ? size : reasonable_size();
  require(size >= smallest, Fault::memory, "shared memory for ", members, " ranks needs ", smallest,
          " bytes of address space, but ", size,
          " are allowed; raise the limits on address space (ulimit -v) and file size (ulimit -f)");

  int opened = -1;
  if (backing == Backing::nameless) {
    opened = memfd_create("vicinal", MFD_CLOEXEC);
    if (opened < 0) fail(Fault::memory, "memfd_create: ", reason());
  } else {
    std::snprintf(invitation.name, sizeof invitation.name, "/vicinal-%016llx",
                  static_cast<unsigned long long>(invitation.nonce));
    opened = shm_open(invitation.name, O_CREAT | O_EXCL | O_RDWR | O_CLOEXEC, S_IRUSR | S_IWUSR);
    if (opened < 0) fail(Fault::memory, "shm_open of ", invitation.name, ": ", reason());
  }
  Descriptor descriptor(opened);
  std::byte* base = nullptr;
  std::string fault;
  for (; size >= smallest && base == nullptr; size /= 2) {
    invitation.size = size;
    if (ftruncate(descriptor.get(), size) == 0) base = map(descriptor.get(), size);
    if (base == nullptr) fault = reason();
  }
  if (base != nullptr && reserve(descriptor.get(), 0, page) != 0) {
    fault = reason();
    unmap(std::exchange(base, nullptr), invitation.size);
  }
  if (base == nullptr) {
    if (backing == Backing::named) shm_unlink(invitation.name);
    fail(Fault::memory, "shared memory for ", members, " ranks could not be mapped: ", fault);
  }
  const Header header{invitation.nonce, invitation.size};
  std::memcpy(base, &header, sizeof header);
  invitation.descriptor = descriptor.get();
  std::unique_ptr<Arena> arena(new Arena(invitation, 0, descriptor.keep(), base));
  arena->named_ = backing == Backing::named;
  return arena;
}

std::unique_ptr<Arena> Arena::attach(const Invitation& invitation, int index, int members) {
  require(members == invitation.members && index >= 0 && index < members, Fault::internal,
          "member ", index, " of ", members, " was invited to an arena of ", invitation.members);
  std::string path = invitation.name;
  int opened = -1;
  if (path.empty()) {
    path =
        "/proc/" + std::to_string(invitation.pid) + "/fd/" + std::to_string(invitation.descriptor);
    opened = open(path.c_str(), O_RDWR | O_CLOEXEC);
  } else {
    opened = shm_open(path.c_str(), O_RDWR | O_CLOEXEC, 0);
  }
  if (opened < 0) fail(Fault::memory, "shared memory at ", path, ": ", reason());
  Descriptor descriptor(opened);
  struct stat status{};
  // Anything may be behind a process number of another container: look before mapping or reading.
  const bool plausible = fstat(opened, &status) == 0 && S_ISREG(status.st_mode) &&
                         status.st_size == invitation.size && status.st_blocks > 0;
  Header header{};
  require(plausible && pread(opened, &header, sizeof header, 0) == sizeof header &&
              header.nonce == invitation.nonce && header.size == invitation.size,
          Fault::memory, "shared memory at ", path, " is not what its creator announced");
  std::byte* base = map(opened, invitation.size);
  if (base == nullptr) {
    fail(Fault::memory, "mapping ", invitation.size, " bytes of shared memory: ", reason());
  }
  return std::unique_ptr<Arena>(new Arena(invitation, index, descriptor.keep(), base));
}

Arena::Arena(const Invitation& invitation, int index, int descriptor, std::byte* base)
    : invitation_(invitation), index_(index), descriptor_(descriptor), base_(base), pid_(getpid()) {
  const std::int64_t share = (invitation.size - header_bytes) / invitation.members / chunk * chunk;
  range_begin_ = header_bytes + index * share;
  range_end_ = range_begin_ + share;
  free_.emplace(range_begin_, share);
}

/// Whether this is the process that has made or joined the arena. What that process forks has the
/// mapping too, but must leave alone what the others see: the name, and the pages.
bool Arena::is_own() const noexcept { return getpid() == pid_; }

Arena::~Arena() {
  seal();
  unmap(base_, invitation_.size);
  close(descriptor_);
}

void Arena::seal() noexcept {
  if (named_ && is_own()) shm_unlink(invitation_.name);
  named_ = false;
}

std::int64_t Arena::allocate(std::size_t bytes, std::size_t alignment) {
  const auto unit = std::max<std::int64_t>(static_cast<std::int64_t>(alignment), granule);
  require(std::has_single_bit(alignment) && unit <= page, Fault::internal,
          "shared memory aligned to ", alignment, " bytes");
  const std::int64_t range = range_end_ - range_begin_;
  const std::lock_guard lock(books_);
  if (bytes <= static_cast<std::size_t>(range)) {
    const std::int64_t wanted =
        round_up(std::max<std::int64_t>(static_cast<std::int64_t>(bytes), 1), granule);
    for (auto hole = free_.begin(); hole != free_.end(); ++hole) {
      const auto [hole_begin, hole_bytes] = *hole;
      const std::int64_t begin = round_up(hole_begin, unit);
      const std::int64_t end = begin + wanted;
      const std::int64_t hole_end = hole_begin + hole_bytes;
      if (end > hole_end) continue;
      back_zeroed(begin, end);
      if (end < hole_end) free_.emplace(end, hole_end - end);
      if (begin > hole_begin) {
        hole->second = begin - hole_begin;
      } else {
        free_.erase(hole);
      }
      live_.emplace(begin, wanted);
      return begin;
    }
  }
  fail(Fault::memory, "no room for ", bytes, " bytes in this rank's part of the shared memory, ",
       range,
       " bytes of address space; free plans that are not needed, or set "
       "VICINAL_SHARED_MEMORY=0");
}

void Arena::release(std::int64_t offset) {
  const std::lock_guard lock(books_);
  const auto found = live_.find(offset);
  require(found != live_.end(), Fault::internal, "shared memory at offset ", offset,
          " was released, but is not allocated");
  std::int64_t begin = found->first;
  std::int64_t end = begin + found->second;
  live_.erase(found);
  auto next = free_.lower_bound(begin);
  if (next != free_.end() && next->first == end) {
    end += next->second;
    next = free_.erase(next);
  }
  if (next != free_.begin()) {
    const auto previous = std::prev(next);
    if (previous->first + previous->second == begin) {
      begin = previous->first;
      free_.erase(previous);
    }
  }
  free_.emplace(begin, end - begin);
  if (end - begin >= chunk && is_own()) give_back(begin, end);
}

/// Makes sure that [begin, end) has pages and that they are zero. Fresh pages are.
void Arena::back_zeroed(std::int64_t begin, std::int64_t end) {
  const auto first = static_cast<std::size_t>((begin - range_begin_) / chunk);
  const auto last = static_cast<std::size_t>((end - 1 - range_begin_) / chunk);
  if (backed_.size() <= last) backed_.resize(last + 1, false);
  const auto start_of = [&](std::size_t index) {
    return range_begin_ + static_cast<std::int64_t>(index) * chunk;
  };
  for (std::size_t i = first; i <= last;) {
    std::size_t stop = i + 1;
    while (stop <= last && backed_[stop] == backed_[i]) ++stop;
    if (backed_[i]) {
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
        fail(Fault::memory, "no room for ", bytes, " bytes of shared memory: ", reason());
      }
      std::fill(backed_.begin() + static_cast<std::ptrdiff_t>(i),
                backed_.begin() + static_cast<std::ptrdiff_t>(stop), true);
    }
    i = stop;
  }
}

/// Returns the pages of whole chunks in the free stretch [begin, end). A system that cannot keeps
/// them, still marked as backed, hence zeroed when they are used again.
void Arena::give_back(std::int64_t begin, std::int64_t end) {
  const std::int64_t first = round_up(begin - range_begin_, chunk) / chunk;
  const std::int64_t last = (end - range_begin_) / chunk;
  const auto known = std::min(last, static_cast<std::int64_t>(backed_.size()));
  for (std::int64_t i = first; i < known;) {
    std::int64_t stop = i + 1;
    if (!backed_[static_cast<std::size_t>(i)]) {
      i = stop;
      continue;
    }
    while (stop < known && backed_[static_cast<std::size_t>(stop)]) ++stop;
    if (fallocate(descriptor_, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, range_begin_ + i * chunk,
                  (stop - i) * chunk) == 0) {
      std::fill(backed_.begin() + i, backed_.begin() + stop, false);
    }
    i = stop;
  }
}

std::int64_t Arena::allocated_bytes() const {
  const std::lock_guard lock(books_);
  std::int64_t sum = 0;
  for (const auto& [offset, bytes] : live_) sum += bytes;
  return sum;
}

std::int64_t Arena::resident_bytes() const {
  const std::lock_guard lock(books_);
  return std::count(backed_.begin(), backed_.end(), true) * chunk;
}

}  // namespace vicinal
