// Ranks of a host exchange data through one shared memory file. Creating it is the only collective
// step, once per communicator. The file is huge but sparse, so plans allocate, grow and free memory
// without another collective.
//
// Each member allocates from its own windows and keeps its bookkeeping in private memory, so
// allocation takes no lock between processes. Each allocation reserves its pages, on the allocating
// member's NUMA node. So a full memory file system is an error message, not a SIGBUS during a copy.
// A memfd has no name, so nothing remains after the processes end, however they end.
//
// Hundreds of communicators must not use up the address space. So each member has one small window,
// which all members map at creation. Each later window is four times larger; a process maps it on
// first use.
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
    nameless,  ///< a memfd, which the others open through /proc
    named,     ///< shm_open, where /proc is closed; seal() removes the name
  };

  /// Message from the creator to the other members; plain bytes.
  struct Invitation {
    std::int64_t pid = 0;
    std::int64_t descriptor = -1;
    std::int64_t size = 0;
    std::int64_t members = 0;
    std::uint64_t nonce = 0;  ///< written into the file, to identify it
    std::int64_t inode = 0;   ///< also identifies it, before anything is read
    char name[40] = {};       ///< empty when nameless
  };

  /// Creates the file; the caller becomes member 0. `size` is its length for all members together.
  /// 0 means a third of a TiB per member, or as much as the process limits allow. Halves the size
  /// until the system accepts it. Throws a memory fault that says what failed.
  static std::unique_ptr<Arena> create(int members, Backing backing = Backing::nameless,
                                       std::int64_t size = 0);

  /// Joins as member `index` while the creator lives. Throws a memory fault that says what failed.
  static std::unique_ptr<Arena> attach(const Invitation& invitation, int index, int members);

  Arena(const Arena&) = delete;
  Arena& operator=(const Arena&) = delete;
  ~Arena();

  [[nodiscard]] const Invitation& invitation() const { return invitation_; }

  /// Removes the name, if there is one. To be called once every member has attached or failed to.
  void seal() noexcept;

  [[nodiscard]] int index() const { return index_; }
  [[nodiscard]] int members() const { return static_cast<int>(invitation_.members); }
  [[nodiscard]] std::int64_t size() const { return invitation_.size; }

  /// Allocates zeroed bytes from this member's windows; returns an offset that is valid for all
  /// members. `alignment` is a power of two up to the page size. Throws a memory fault, and changes
  /// nothing, if the windows or the system are out of memory.
  std::int64_t allocate(std::size_t bytes, std::size_t alignment = 64);

  /// Frees what allocate() returned. Returns free ranges of 1 MiB or more to the system. Allocates
  /// nothing.
  void release(std::int64_t offset);

  /// Address in this process of memory that any member allocated. Throws a memory fault if this
  /// process maps the window for the first time and the system has no address space for it.
  [[nodiscard]] std::byte* at(std::int64_t offset) const {
    return offset < levels_.front().end ? base_ + offset : at_later_level(offset);
  }

  /// Bytes allocated by this member, and bytes it holds from the system.
  [[nodiscard]] std::int64_t allocated_bytes() const;
  [[nodiscard]] std::int64_t resident_bytes() const;

 private:
  /// Windows of equal size, one for each member.
  struct Level {
    std::int64_t begin = 0;  ///< offset of member 0's window
    std::int64_t window = 0;
    std::int64_t end = 0;
    /// Granularity, in bytes, in which pages are taken from the system.
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
  /// Windows of the later levels, level by level, in order of members; null until mapped.
  mutable std::vector<std::atomic<std::byte*>> windows_;
  mutable Mutex mapping_;
  std::int64_t pid_ = 0;  ///< process that created or joined the arena

  mutable Mutex books_;
  Stretches free_ VICINAL_GUARDED_BY(books_);  ///< never adjacent
  Stretches live_ VICINAL_GUARDED_BY(books_);
  std::vector<std::vector<bool>> backed_
      VICINAL_GUARDED_BY(books_);  ///< per level, per chunk of this member's window
  bool named_ = false;             ///< the name still exists, and this process removes it
};

}  // namespace vicinal
