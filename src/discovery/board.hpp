// Shared memory in which the ranks of a region show each other what they hand over, and how far
// they are. Each member writes to memory of its own and reads the others': a post says which call
// it is of, where the data lie and how many bytes. Nobody acknowledges. A member takes two posts in
// turn for each stage of an exchange, and no rank leaves a call before all have entered it, so what
// it overwrites is of a call that all have left.
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

  /// Allocates this member's lines and areas for the first data. Throws a memory fault.
  explicit Board(Arena& arena);
  /// Where they are, for the others.
  [[nodiscard]] std::int64_t offset() const { return own_; }
  /// From now on the others' can be read, by the places of the members.
  void join(std::vector<std::int64_t> offsets) { members_ = std::move(offsets); }

  // Calls are numbered 1, 2, ...; all members count alike.

  /// Room for data of this member, to be filled before the post. Null where the arena has none.
  std::byte* room(int stage, std::int64_t call, std::size_t bytes);
  /// Shows what was written there, or that there was no room.
  void post(int stage, std::int64_t call, bool flagged);

  struct Shown {
    bool roomy = false;  ///< otherwise the data come by message
    bool flagged = false;
    const std::byte* data = nullptr;
  };
  [[nodiscard]] bool posted(int stage, std::int64_t call, int member) const;
  /// What a member has posted.
  [[nodiscard]] Shown shown(int stage, std::int64_t call, int member) const;

  /// A number that a member shows: the call for which it is ready, twice, and one if flagged. It is
  /// read for the present call only, before anyone can show the next.
  void show_ready(std::int64_t call, bool flagged);
  [[nodiscard]] std::int64_t ready(int member) const;
  /// Likewise what the region leader, member 0, has found out for all.
  void show_verdict(std::int64_t call, bool flagged);
  [[nodiscard]] std::int64_t verdict() const;

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
    Word verdict;
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
