// A post is written before its call number (release), and read after it (acquire). The destructor
// returns nothing to the arena, since other members may still read: the memory is freed with the
// arena.
#include "discovery/board.hpp"

#include <algorithm>

#include "base/error.hpp"

namespace vicinal {
namespace {

constexpr std::size_t smallest_area = 4096;

std::size_t turn_of(std::int64_t call) { return static_cast<std::size_t>(call % 2); }

}  // namespace

Board::Board(Arena& arena) : arena_(arena), own_(arena.allocate(sizeof(Lines), alignof(Lines))) {
  // Most exchanges need no more, so they allocate nothing later.
  for (auto& turns : areas_) {
    for (Area& area : turns) area = {arena_.allocate(smallest_area), smallest_area};
  }
}

Board::Lines& Board::lines(std::int64_t offset) const {
  // Zeroed memory is a valid state of Lines.
  return *reinterpret_cast<Lines*>(arena_.at(offset));
}

const Board::Post& Board::post_of(int stage, std::int64_t call, int member) const {
  return lines(members_[static_cast<std::size_t>(member)]).posts[stage][turn_of(call)];
}

std::byte* Board::room(int stage, std::int64_t call, std::size_t bytes) {
  Area& area = areas_[stage][turn_of(call)];
  if (area.offset >= 0 && area.bytes >= bytes) return arena_.at(area.offset);
  if (area.offset >= 0) arena_.release(area.offset);
  area = {};
  const std::size_t wanted = std::max(bytes + bytes / 2, smallest_area);
  try {
    area = {arena_.allocate(wanted), wanted};
  } catch (const std::exception&) {
    return nullptr;
  }
  return arena_.at(area.offset);
}

void Board::post(int stage, std::int64_t call, bool flagged) {
  Post& post = lines(own_).posts[stage][turn_of(call)];
  post.area = areas_[stage][turn_of(call)].offset;
  post.flagged = flagged ? 1 : 0;
  post.call.store(call, std::memory_order_release);
}

bool Board::posted(int stage, std::int64_t call, int member) const {
  return post_of(stage, call, member).call.load(std::memory_order_acquire) == call;
}

Board::Shown Board::shown(int stage, std::int64_t call, int member) const {
  const Post& post = post_of(stage, call, member);
  const bool roomy = post.area >= 0;
  return {roomy, post.flagged != 0, roomy ? arena_.at(post.area) : nullptr};
}

void Board::show_ready(std::int64_t call, bool flagged) {
  lines(own_).ready.value.store(2 * call + (flagged ? 1 : 0), std::memory_order_release);
}

std::int64_t Board::ready(int member) const {
  return lines(members_[static_cast<std::size_t>(member)])
      .ready.value.load(std::memory_order_acquire);
}

void Board::show_decision(std::int64_t call, bool flagged) {
  lines(own_).decision.value.store(2 * call + (flagged ? 1 : 0), std::memory_order_release);
}

std::int64_t Board::decision() const {
  return lines(members_.front()).decision.value.load(std::memory_order_acquire);
}

}  // namespace vicinal
