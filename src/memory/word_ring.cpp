// Places count words since the ring was created; the memory index is the place modulo the capacity.
#include "memory/word_ring.hpp"

#include <algorithm>
#include <new>

namespace vicinal {
namespace {

/// A plan's control messages take 150 to 600 words; 32 KiB hold those of a host's ranks.
constexpr std::uint64_t capacity = 4096;

}  // namespace

struct WordRing::Ends {
  alignas(64) std::atomic<std::uint64_t> tail;  ///< places reserved so far
  alignas(64) std::atomic<std::uint64_t> head;  ///< places read so far
};

std::size_t WordRing::bytes() { return sizeof(Ends) + capacity * sizeof(std::int64_t); }

std::size_t WordRing::most_words() { return capacity / 4; }

// Zeroed memory is a valid initial state of lock-free atomic counters.
WordRing::WordRing(std::byte* place)
    : ends_(std::launder(reinterpret_cast<Ends*>(place))),
      words_(std::launder(reinterpret_cast<std::int64_t*>(place + sizeof(Ends)))) {
  static_assert(std::atomic<std::uint64_t>::is_always_lock_free);
}

std::atomic_ref<std::int64_t> WordRing::header(std::uint64_t place) const {
  return std::atomic_ref(words_[place % capacity]);
}

WordRing::Stretches WordRing::stretches(std::uint64_t place, std::size_t count) const {
  const std::size_t begin = place % capacity;
  const std::size_t before_end = std::min<std::size_t>(count, capacity - begin);
  return {{words_ + begin, before_end}, {words_, count - before_end}};
}

bool WordRing::push(std::span<const std::int64_t> words) noexcept {
  if (words.size() > most_words()) return false;
  const std::uint64_t length = 1 + words.size();
  std::uint64_t begin = ends_->tail.load(std::memory_order_relaxed);
  do {
    if (begin + length - ends_->head.load(std::memory_order_acquire) > capacity) return false;
  } while (!ends_->tail.compare_exchange_weak(begin, begin + length, std::memory_order_relaxed));
  const auto [first, rest] = stretches(begin + 1, words.size());
  std::ranges::copy(words.first(first.size()), first.begin());
  std::ranges::copy(words.subspan(first.size()), rest.begin());
  header(begin).store(static_cast<std::int64_t>(length), std::memory_order_release);
  return true;
}

std::int64_t WordRing::next_words() const noexcept {
  const std::uint64_t head = ends_->head.load(std::memory_order_relaxed);
  return header(head).load(std::memory_order_acquire) - 1;
}

void WordRing::pop(std::span<std::int64_t> words) noexcept {
  const std::uint64_t head = ends_->head.load(std::memory_order_relaxed);
  const auto [first, rest] = stretches(head + 1, words.size());
  std::ranges::copy(rest, std::ranges::copy(first, words.begin()).out);
  std::ranges::fill(first, 0);
  std::ranges::fill(rest, 0);
  header(head).store(0, std::memory_order_relaxed);
  ends_->head.store(head + 1 + words.size(), std::memory_order_release);
}

}  // namespace vicinal
