// Places the bytes of ranges in a block, and keeps blocks and jobs for later calls.
#include "memory/bounce_buffer.hpp"

#include <algorithm>
#include <bit>
#include <utility>

namespace vicinal {

namespace {

/// Places keep the relative alignment of the originals.
constexpr Index line_bytes = 64;
/// Gives pieces that grow a little enough room.
constexpr std::size_t least_block_bytes = 4096;

/// Maps offsets from the lowest address to places in a block; touching ranges become one run.
std::vector<CopyRun> runs_of(std::vector<UserBytes>& stretches) {
  std::erase_if(stretches, [](const UserBytes& stretch) { return stretch.bytes == 0; });
  std::sort(stretches.begin(), stretches.end(),
            [](const UserBytes& a, const UserBytes& b) { return a.begin < b.begin; });
  std::vector<CopyRun> runs;
  for (const UserBytes& stretch : stretches) {
    const Index offset = stretch.begin - stretches.front().begin;
    if (!runs.empty() && offset <= runs.back().source + runs.back().count) {
      CopyRun& last = runs.back();
      last.count = std::max(last.count, offset + stretch.bytes - last.source);
      continue;
    }
    const Index end = runs.empty() ? 0 : runs.back().target + runs.back().count;
    runs.push_back({offset, end + (offset - end) % line_bytes, stretch.bytes});
  }
  return runs;
}

}  // namespace

std::unique_ptr<BounceBufferPool::Kit> BounceBufferPool::find(const Kit& wanted,
                                                              std::size_t bytes) {
  const Lock lock(mutex_);
  auto found = std::find_if(idle_.begin(), idle_.end(),
                            [&](const auto& kit) { return kit->is_for(wanted); });
  if (found == idle_.end()) {
    found = std::find_if(idle_.begin(), idle_.end(), [&](const auto& kit) {
      return kit->kind == wanted.kind && kit->block.size() >= bytes;
    });
  }
  if (found == idle_.end()) return nullptr;
  auto kit = std::move(*found);
  idle_.erase(found);
  return kit;
}

std::unique_ptr<BounceBufferPool::Kit> BounceBufferPool::take(Kit wanted, std::size_t bytes) {
  auto kit = find(wanted, bytes);
  if (kit && kit->is_for(wanted)) return kit;
  MemoryKind& kind = *wanted.kind;
  if (kit) {
    wanted.block = std::move(kit->block);
    kit.reset();
  } else {
    wanted.block = MemoryBlock(kind.staging(), std::bit_ceil(std::max(bytes, least_block_bytes)));
  }
  if (wanted.is_apart) {
    for (const CopyRun& run : wanted.runs) {
      const CopyRun it{0, 0, run.count};
      wanted.jobs.push_back(kind.prepare_copy({&it, 1}, 1, wanted.inside));
    }
  } else {
    wanted.jobs.push_back(kind.prepare_copy(wanted.runs, 1, wanted.inside));
  }
  return std::make_unique<Kit>(std::move(wanted));
}

void BounceBufferPool::give_back(std::unique_ptr<Kit> kit) noexcept {
  std::unique_ptr<Kit> oldest;  // freed after the lock is released
  const Lock lock(mutex_);
  idle_.push_back(std::move(kit));
  if (idle_.size() <= most_idle) return;
  oldest = std::move(idle_.front());
  idle_.erase(idle_.begin());
}

BounceBuffer::BounceBuffer(BounceBufferPool& pool, MemoryKind& kind, Direction direction, From from,
                           std::vector<UserBytes> stretches)
    : pool_(pool), direction_(direction) {
  std::vector<CopyRun> runs = runs_of(stretches);
  lowest_ = stretches.front().begin;
  const Index bytes = runs.back().target + runs.back().count;
  const bool reaches = kind.reaches(kind.staging(), total(runs));
  const bool fetched = direction == Direction::fetched;
  if (!fetched) {
    for (CopyRun& run : runs) std::swap(run.source, run.target);
  }
  BounceBufferPool::Kit wanted;
  wanted.kind = &kind;
  wanted.inside = {fetched || reaches, !fetched || reaches};
  wanted.is_apart = from == From::anywhere && runs.size() > 1;
  wanted.runs = std::move(runs);
  kit_ = pool.take(std::move(wanted), static_cast<std::size_t>(bytes));
  in_progress_.reserve(kit_->jobs.size());
}

BounceBuffer::~BounceBuffer() {
  drop();
  pool_.give_back(std::move(kit_));
}

void BounceBuffer::drop() noexcept {
  for (MemoryJob* const job : in_progress_) job->drop();
  in_progress_.clear();
}

std::byte* BounceBuffer::at(const std::byte* address) const {
  const Index offset = address - lowest_;
  const auto place = [this](const CopyRun& run) {
    return direction_ == Direction::fetched ? std::pair(run.source, run.target)
                                            : std::pair(run.target, run.source);
  };
  const auto after =
      std::upper_bound(kit_->runs.begin(), kit_->runs.end(), offset,
                       [&](Index it, const CopyRun& run) { return it < place(run).first; });
  const auto [original, here] = place(*std::prev(after));
  return kit_->block.data() + here + (offset - original);
}

void BounceBuffer::begin() try {
  std::byte* const here = kit_->block.data();
  std::byte* const from = direction_ == Direction::fetched ? lowest_ : here;
  std::byte* const to = direction_ == Direction::fetched ? here : lowest_;
  for (std::size_t i = 0; i < kit_->jobs.size(); ++i) {
    MemoryJob& job = *kit_->jobs[i];
    const CopyRun run = kit_->is_apart ? kit_->runs[i] : CopyRun{};
    if (!job.begin(from + run.source, to + run.target)) in_progress_.push_back(&job);
  }
  kit_->kind->launch();
} catch (...) {
  drop();
  throw;
}

bool BounceBuffer::poll() try {
  while (!in_progress_.empty()) {
    if (!in_progress_.back()->poll()) return false;
    in_progress_.pop_back();
  }
  return true;
} catch (...) {
  drop();
  throw;
}

void BounceBuffer::copy(void (*meanwhile)() noexcept) {
  begin();
  while (!poll()) meanwhile();
}

}  // namespace vicinal
