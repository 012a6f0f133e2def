// Creates, joins and sub-allocates the shared file. Layout: a header, then the levels, each with
// one window per member. A nonce in the header identifies the file, because a process number means
// another process in another container.
#include "memory/arena.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <ctime>
#include <filesystem>
#include <limits>
#include <random>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>

#include "base/error.hpp"
#include "base/guarded.hpp"
#include "memory/pages.hpp"

namespace vicinal {
namespace {

constexpr std::int64_t page = page_bytes;
constexpr std::int64_t granule = 64;
constexpr std::int64_t largest_chunk = std::int64_t{1} << 20;
constexpr std::int64_t header_bytes = largest_chunk;
constexpr std::int64_t first_window = std::int64_t{4} << 20;
constexpr std::int64_t growth = 4;
constexpr std::size_t most_levels = 9;  ///< the last has windows of 256 GiB
constexpr std::int64_t chunks_per_window = 64;

/// Prevents every process from truncating what others have mapped, and from removing the seals.
constexpr int seals = F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL;

struct Header {
  std::uint64_t nonce;
  std::int64_t size;
};

std::int64_t limit_of(decltype(RLIMIT_AS) resource) {
  rlimit limit{};
  constexpr std::int64_t none = std::numeric_limits<std::int64_t>::max();
  if (getrlimit(resource, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) return none;
  return static_cast<std::int64_t>(std::min<rlim_t>(limit.rlim_cur, static_cast<rlim_t>(none)));
}

std::string reason() { return std::strerror(errno); }

/// A descriptor that is closed unless kept.
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

std::byte* map(int descriptor, std::int64_t begin, std::int64_t size) {
  void* base = mmap(nullptr, static_cast<std::size_t>(size), PROT_READ | PROT_WRITE,
                    MAP_SHARED | MAP_NORESERVE, descriptor, begin);
  if (base == MAP_FAILED) return nullptr;
  // Keeps the holes out of core dumps.
  madvise(base, static_cast<std::size_t>(size), MADV_DONTDUMP);
  return static_cast<std::byte*>(base);
}

void unmap(std::byte* base, std::int64_t size) { munmap(base, static_cast<std::size_t>(size)); }

std::uint64_t random_number() {
  std::random_device device;
  const std::uint64_t high = device();
  return (high << 32 | device()) ^ static_cast<std::uint64_t>(getpid());
}

/// Prefix of names that exist only while a communicator is set up. Names found later belong to
/// killed processes.
constexpr const char* name_prefix = "/vicinal-";
constexpr const char* named_folder = "/dev/shm";

/// Removes names that killed processes of this user left behind. A process that still needs a name
/// holds a lock on it.
void sweep_names() noexcept {
  std::error_code error;
  for (std::filesystem::directory_iterator entry(named_folder, error), end; !error && entry != end;
       entry.increment(error)) {
    std::string name("/");
    name += entry->path().filename().string();
    if (!name.starts_with(name_prefix)) continue;
    const Descriptor descriptor(shm_open(name.c_str(), O_RDWR | O_CLOEXEC, 0));
    struct stat status{};
    // A new file may not be locked yet.
    if (descriptor.get() < 0 || fstat(descriptor.get(), &status) != 0 ||
        status.st_uid != geteuid() || std::time(nullptr) - status.st_mtime < 60) {
      continue;
    }
    if (flock(descriptor.get(), LOCK_EX | LOCK_NB) == 0) shm_unlink(name.c_str());
  }
}

/// Returns the path of the creator's file. First checks that nothing else is there: opening a
/// device or a pipe could affect other processes.
std::string path_of(const Arena::Invitation& invitation) {
  const std::string path =
      "/proc/" + std::to_string(invitation.pid) + "/fd/" + std::to_string(invitation.descriptor);
  std::array<char, 64> target{};
  if (readlink(path.c_str(), target.data(), target.size() - 1) < 0) {
    fail(Fault::memory, "shared memory at ", path, ": ", reason());
  }
  require(std::string_view(target.data()).starts_with("/memfd:vicinal"), Fault::memory,
          "shared memory at ", path, " is not what its creator announced: it is ", target.data());
  return path;
}

/// Checks what can be checked before anything is read.
bool is_announced(const Arena::Invitation& invitation, int descriptor) {
  struct stat status{};
  if (fstat(descriptor, &status) != 0 || !S_ISREG(status.st_mode)) return false;
  const bool same = status.st_uid == geteuid() && (status.st_mode & (S_IRWXG | S_IRWXO)) == 0 &&
                    static_cast<std::int64_t>(status.st_ino) == invitation.inode &&
                    status.st_size == invitation.size && status.st_blocks > 0;
  const bool named = invitation.name[0] != '\0';
  const int found = fcntl(descriptor, F_GET_SEALS);
  return same && (named || (found >= 0 && (found & seals) == seals));
}

}  // namespace

std::int64_t Arena::Level::chunk() const {
  return std::min(largest_chunk,
                  std::max(window / chunks_per_window / page, std::int64_t{1}) * page);
}

/// Lays out levels while they fit, each window four times as large as the last. The last level
/// takes the remaining room. Empty if not even the first level fits.
std::vector<Arena::Level> Arena::levels_of(std::int64_t members, std::int64_t size) {
  std::vector<Level> levels;
  std::int64_t begin = header_bytes;
  std::int64_t window = first_window;
  while (levels.size() < most_levels && window <= (size - begin) / members) {
    levels.push_back({begin, window, begin + members * window});
    // The gap keeps free ranges of adjacent windows from merging.
    begin = levels.back().end + largest_chunk;
    window *= growth;
  }
  if (!levels.empty() && levels.size() < most_levels) {
    Level& last = levels.back();
    last.window = (size - last.begin) / members / largest_chunk * largest_chunk;
    last.end = last.begin + members * last.window;
  }
  return levels;
}

std::unique_ptr<Arena> Arena::create(int members, Backing backing, std::int64_t size) {
  require(members > 0, Fault::internal, "an arena for ", members, " members");
  Invitation invitation;
  invitation.pid = getpid();
  invitation.members = members;
  invitation.nonce = random_number();
  const std::int64_t smallest = header_bytes + members * first_window;
  if (size <= 0) {
    // Exceeding the limit on file sizes raises a signal, not an error code.
    size = std::min(levels_of(members, std::numeric_limits<std::int64_t>::max()).back().end,
                    limit_of(RLIMIT_FSIZE));
  }
  require(size >= smallest, Fault::memory, "shared memory for ", members, " ranks needs a file of ",
          smallest, " bytes, but ", size,
          " are allowed; raise the limit on file sizes (ulimit -f)");

  int opened = -1;
  if (backing == Backing::nameless) {
    opened = memfd_create("vicinal", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    if (opened < 0) fail(Fault::memory, "memfd_create: ", reason());
  } else {
    sweep_names();
    std::snprintf(invitation.name, sizeof invitation.name, "%s%016llx", name_prefix,
                  static_cast<unsigned long long>(invitation.nonce));
    opened = shm_open(invitation.name, O_CREAT | O_EXCL | O_RDWR | O_CLOEXEC, S_IRUSR | S_IWUSR);
    if (opened < 0) fail(Fault::memory, "shm_open of ", invitation.name, ": ", reason());
  }
  Descriptor descriptor(opened);
  if (backing == Backing::named) flock(opened, LOCK_SH | LOCK_NB);
  std::string fault;
  const auto attempt = [&](bool done) {
    if (!done && fault.empty()) fault = reason();
    return done;
  };
  for (; size >= smallest; size /= 2) {
    fault.clear();
    if (attempt(ftruncate(opened, size) == 0)) break;
  }
  std::byte* base = nullptr;
  struct stat status{};
  if (fault.empty() && attempt(fchmod(opened, S_IRUSR | S_IWUSR) == 0) &&
      attempt(backing == Backing::named || fcntl(opened, F_ADD_SEALS, seals) == 0) &&
      attempt(reserve(opened, 0, page) == 0) && attempt(fstat(opened, &status) == 0)) {
    base = map(opened, 0, levels_of(members, size).front().end);
    attempt(base != nullptr);
  }
  if (base == nullptr) {
    if (backing == Backing::named) shm_unlink(invitation.name);
    fail(Fault::memory, "shared memory for ", members, " ranks could not be made: ", fault);
  }
  invitation.size = size;
  invitation.inode = static_cast<std::int64_t>(status.st_ino);
  invitation.descriptor = opened;
  const Header header{invitation.nonce, invitation.size};
  std::memcpy(base, &header, sizeof header);
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
    // Entries of /proc/PID/fd are links, so O_NOFOLLOW would refuse them.
    path = path_of(invitation);
    opened = open(path.c_str(), O_RDWR | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
  } else {
    opened = shm_open(path.c_str(), O_RDWR | O_CLOEXEC, 0);  // does not follow links
  }
  if (opened < 0) fail(Fault::memory, "shared memory at ", path, ": ", reason());
  Descriptor descriptor(opened);
  Header header{};
  require(is_announced(invitation, opened) &&
              pread(opened, &header, sizeof header, 0) == sizeof header &&
              header.nonce == invitation.nonce && header.size == invitation.size,
          Fault::memory, "shared memory at ", path, " is not what its creator announced");
  const std::vector<Level> levels = levels_of(members, invitation.size);
  require(!levels.empty(), Fault::internal, "an arena of ", invitation.size, " bytes for ", members,
          " members");
  std::byte* base = map(opened, 0, levels.front().end);
  if (base == nullptr) {
    fail(Fault::memory, "mapping ", levels.front().end, " bytes of shared memory: ", reason());
  }
  return std::unique_ptr<Arena>(new Arena(invitation, index, descriptor.keep(), base));
}

Arena::Arena(const Invitation& invitation, int index, int descriptor, std::byte* base)
    : invitation_(invitation),
      index_(index),
      descriptor_(descriptor),
      levels_(levels_of(invitation.members, invitation.size)),
      base_(base),
      windows_((levels_.size() - 1) * static_cast<std::size_t>(invitation.members)),
      pid_(getpid()),
      backed_(levels_.size()) {
  for (const Level& level : levels_) free_.emplace(level.of(index), level.window);
}

/// Returns whether this process created or joined the arena. A forked child has the mapping too,
/// but must not touch shared state: the name and the pages.
bool Arena::is_own() const noexcept { return getpid() == pid_; }

Arena::~Arena() {
  seal();
  for (std::size_t i = 0; i < windows_.size(); ++i) {
    const Level& level = levels_[1 + i / static_cast<std::size_t>(invitation_.members)];
    if (std::byte* const window = windows_[i].load()) unmap(window, level.window);
  }
  unmap(base_, levels_.front().end);
  close(descriptor_);
}

void Arena::seal() noexcept {
  if (named_ && is_own()) shm_unlink(invitation_.name);
  named_ = false;
}

std::size_t Arena::level_of(std::int64_t offset) const {
  std::size_t level = 0;
  while (offset >= levels_[level].end) ++level;
  return level;
}

std::byte* Arena::at_later_level(std::int64_t offset) const {
  const std::size_t number = level_of(offset);
  const Level& level = levels_[number];
  const std::int64_t member = (offset - level.begin) / level.window;
  const std::int64_t place = static_cast<std::int64_t>(number - 1) * invitation_.members + member;
  std::atomic<std::byte*>& window = windows_[static_cast<std::size_t>(place)];
  std::byte* base = window.load(std::memory_order_acquire);
  if (base == nullptr) {
    const Lock lock(mapping_);
    base = window.load(std::memory_order_relaxed);
    if (base == nullptr) base = map(descriptor_, level.of(static_cast<int>(member)), level.window);
    if (base == nullptr) {
      fail(Fault::memory, "mapping ", level.window, " bytes of shared memory: ", reason(),
           "; raise the limit on address space (ulimit -v), or set VICINAL_SHARED_MEMORY=0");
    }
    window.store(base, std::memory_order_release);
  }
  return base + (offset - level.of(static_cast<int>(member)));
}

std::int64_t Arena::allocate(std::size_t bytes, std::size_t alignment) {
  const auto unit = std::max<std::int64_t>(static_cast<std::int64_t>(alignment), granule);
  require(std::has_single_bit(alignment) && unit <= page, Fault::internal,
          "shared memory aligned to ", alignment, " bytes");
  const std::int64_t largest = levels_.back().window;
  const Lock lock(books_);
  if (bytes <= static_cast<std::size_t>(largest)) {
    const std::int64_t wanted =
        round_up(std::max<std::int64_t>(static_cast<std::int64_t>(bytes), 1), granule);
    for (auto hole = free_.begin(); hole != free_.end(); ++hole) {
      const auto [hole_begin, hole_bytes] = *hole;
      const std::int64_t begin = round_up(hole_begin, unit);
      const std::int64_t end = begin + wanted;
      const std::int64_t hole_end = hole_begin + hole_bytes;
      if (end > hole_end) continue;
      static_cast<void>(at(begin));  // maps the window
      back_zeroed(begin, end);
      // Allocates everything before changing anything.
      Stretches taken{{begin, wanted}}, behind;
      if (end < hole_end) behind.emplace(end, hole_end - end);
      if (begin > hole_begin) {
        hole->second = begin - hole_begin;
      } else {
        free_.erase(hole);
      }
      free_.merge(behind);
      live_.merge(taken);
      return begin;
    }
  }
  fail(Fault::memory, "no room for ", bytes,
       " bytes in this rank's part of the shared memory, whose ", "largest piece is ", largest,
       " bytes; free plans that are not needed, or set VICINAL_SHARED_MEMORY=0");
}

void Arena::release(std::int64_t offset) {
  const Lock lock(books_);
  const auto found = live_.find(offset);
  require(found != live_.end(), Fault::internal, "shared memory at offset ", offset,
          " was released, but is not allocated");
  auto stretch = live_.extract(found);
  std::int64_t begin = stretch.key();
  std::int64_t end = begin + stretch.mapped();
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
  stretch.key() = begin;
  stretch.mapped() = end - begin;
  free_.insert(std::move(stretch));
  if (end - begin >= largest_chunk && is_own()) give_back(begin, end);
}

}  // namespace vicinal
