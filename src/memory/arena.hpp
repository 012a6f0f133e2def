// Ranks of a host hand data to each other through one shared file of memory. It is made once per
// communicator, the only step that needs all of them; it is huge but sparse, so that plans can
// come, grow and go without another collective. Each member allocates from windows of its own and
// keeps the books in private memory, so allocation takes no lock between processes. Pages are
// really allocated when they are handed out (a full memory file system is an error message here,
// not a SIGBUS in the middle of a copy), on the allocating member's NUMA node. The file has no
// name: whatever way the processes end, nothing is left behind.
//
// Address space is taken as it is needed, or communicators by the hundred would use it up: each member
// has a small window, mapped by all from the beginning, and ever larger ones (each four times the last)
// that a process maps when it first has to do with them.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <vector>

#include "base/guarded.hpp"

namespace vicinal {

class Arena {
 public:
  enum class Backing {
    nameless,  ///< a memfd, opened by the others through /proc
    named,     ///< shm_open, for where /proc is closed; the name goes away in seal()
  };

  /// What the creator sends to the others; plain bytes.
  struct Invitation {
    std::int64_t pid = 0;
    std::int64_t descriptor = -1;
    std::int64_t size = 0;
    std::int64_t members = 0;
    std::uint64_t nonce = 0;  ///< written into the file, to tell it from any other
    std::int64_t inode = 0;   ///< likewise, looked at before anything is read
    char name[40] = {};       ///< empty when nameless
  };

  /// Creates the file; the caller is member 0. `size` is its length, for all members together: 0 means
  /// a third of a TiB for each, or as much as the limits of the process allow. It is halved until the
  /// system agrees. Throws a memory fault that says what failed.
  static std::unique_ptr<Arena> create(int members, Backing backing = Backing::nameless,
                                       std::int64_t size = 0);

  /// Joins as member `index` while the creator lives. Throws a memory fault that says what failed.
  static std::unique_ptr<Arena> attach(const Invitation& invitation, int index, int members);

  Arena(const Arena&) = delete;
  Arena& operator=(const Arena&) = delete;
  ~Arena();

  [[nodiscard]] const Invitation& invitation() const { return invitation_; }

  /// Once every member has attached, or failed to: takes the name away, where there is one.
  void seal() noexcept;

  [[nodiscard]] int index() const { return index_; }
  [[nodiscard]] int members() const { return static_cast<int>(invitation_.members); }
  [[nodiscard]] std::int64_t size() const { return invitation_.size; }

  /// Zeroed bytes from this member's windows, as an offset that is valid for all members. `alignment`
  /// is a power of two up to the page size. Throws a memory fault where the windows or the system are
  /// out of memory; nothing has changed then.
  std::int64_t allocate(std::size_t bytes, std::size_t alignment = 64);

  /// Gives back what allocate returned. Freed stretches of 1 MiB and more go back to the system. Takes no memory.
  void release(std::int64_t offset);

  /// What any member has allocated, in this process. Throws a memory fault where the system has no
  /// address space for a window that this process has not touched before.
  [[nodiscard]] std::byte* at(std::int64_t offset) const {
    return offset < levels_.front().end ? base_ + offset : at_later_level(offset);
  }

  /// Bytes handed out to this member, and bytes it really holds from the system.
  [[nodiscard]] std::int64_t allocated_bytes() const;
  [[nodiscard]] std::int64_t resident_bytes() const;

 private:
  /// Windows of equal size, one for each member.
  struct Level {
    std::int64_t begin = 0;  ///< offset of member 0's
    std::int64_t window = 0;
    std::int64_t end = 0;
    /// Pages are taken from the system in pieces of so many bytes.
    [[nodiscard]] std::int64_t chunk() const;
    [[nodiscard]] std::int64_t of(int member) const { return begin + member * window; }
  };

  using Stretches = std::map<std::int64_t, std::int64_t>;  ///< offset -> bytes

  Arena(const Invitation& invitation, int index, int descriptor, std::byte* base);
  static std::vector<Level> levels_of(std::int64_t members, std::int64_t size);
  [[nodiscard]] std::byte* at_later_level(std::int64_t offset) const;
  [[nodiscard]] std::size_t level_of(std::int64_t offset) const;
  void back_zeroed(std::int64_t begin, std::int64_t end) VICINAL_REQUIRES(books_);
  [[nodiscard]] bool is_own() const noexcept;
  void give_back(std::int64_t begin, std::int64_t end) VICINAL_REQUIRES(books_);

  Invitation invitation_;
  int index_ = 0;
  int descriptor_ = -1;
  std::vector<Level> levels_;
  std::byte* base_ = nullptr;  ///< the header and the first level
  /// Of the other levels, one member after the other; null until needed.
  mutable std::vector<std::atomic<std::byte*>> windows_;
  mutable Mutex mapping_;
  std::int64_t pid_ = 0;  ///< of the process whose arena it is

  mutable Mutex books_;
  Stretches free_ VICINAL_GUARDED_BY(books_);  ///< never adjacent
  Stretches live_ VICINAL_GUARDED_BY(books_);
  std::vector<std::vector<bool>> backed_
      VICINAL_GUARDED_BY(books_);  ///< per level, per chunk of this member's window
  bool named_ = false;             ///< the name is still there, and ours to remove
};

}  // namespace vicinal
