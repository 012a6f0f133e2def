// Shared memory through which the ranks of a region hand over data and show their progress. Each
// member writes to its own memory and reads the others'. A post names its call and the area that
// holds the data. Readers do not acknowledge. Instead, each stage of an exchange alternates between
// two posts. No rank leaves a call before all have entered it, so a member overwrites only a post
// of a call that all have left.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "memory/arena.hpp"

namespace vicinal {

class Board {
 public:
  static constexpr int stages = 2;

  /// Allocates this member's lines and its first areas. Throws a memory fault.
  explicit Board(Arena& arena);
  /// Offset of this member's lines in the arena, for the other members.
  [[nodiscard]] std::int64_t offset() const { return own_; }
  /// Makes the other members' lines readable; `offsets` are in order of place.
  void join(std::vector<std::int64_t> offsets) { members_ = std::move(offsets); }

  // Calls are numbered 1, 2, ..., with equal numbers on all members.

  /// Returns an area for this member's data, to be filled before the post. Null if the arena has no
  /// room.
  std::byte* room(int stage, std::int64_t call, std::size_t bytes);
  /// Posts the data of the area, or that there was no room.
  void post(int stage, std::int64_t call, bool flagged);

  struct Shown {
    bool roomy = false;  ///< if false, the data come by message
    bool flagged = false;
    const std::byte* data = nullptr;
  };
  [[nodiscard]] bool posted(int stage, std::int64_t call, int member) const;
  /// Returns a member's post.
  [[nodiscard]] Shown shown(int stage, std::int64_t call, int member) const;

  /// Shows that this member is ready: twice the number of the call, plus 1 if flagged. The others
  /// read it during this call only, before any member can show the next.
  void show_ready(std::int64_t call, bool flagged);
  [[nodiscard]] std::int64_t ready(int member) const;
  /// Shows the result that the region leader, member 0, found for all; encoded as in show_ready().
  void show_decision(std::int64_t call, bool flagged);
  [[nodiscard]] std::int64_t decision() const;

 private:
  struct alignas(64) Post {
    std::atomic<std::int64_t> call;
    std::int64_t area;
    std::int64_t flagged;
  };
  struct alignas(64) Word {
    std::atomic<std::int64_t> value;
  };
  struct Lines {
    Post posts[stages][2];
    Word ready;
    Word decision;
  };
  struct Area {
    std::int64_t offset = -1;
    std::size_t bytes = 0;
  };
  [[nodiscard]] Lines& lines(std::int64_t offset) const;
  [[nodiscard]] const Post& post_of(int stage, std::int64_t call, int member) const;

  Arena& arena_;
  std::int64_t own_;
  Area areas_[stages][2];
  std::vector<std::int64_t> members_;
};

}  // namespace vicinal
