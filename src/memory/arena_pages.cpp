// The pages of an arena's allocations: taken from the system on first use, and returned.
#include <fcntl.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <string>

#include "base/error.hpp"
#include "base/guarded.hpp"
#include "memory/arena.hpp"
#include "memory/available.hpp"
#include "memory/pages.hpp"

namespace vicinal {

namespace {

constexpr std::int64_t large_request = std::int64_t{64} << 20;

}  // namespace

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
