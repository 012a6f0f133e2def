// Tests the queue of words in shared memory: order, capacity, and concurrent writers.
#include "memory/word_ring.hpp"

#include <thread>
#include <vector>

#include "check.hpp"

namespace vicinal::word_ring_tests {
namespace {

/// A ring in memory of this process.
struct Place {
  std::vector<std::int64_t> words = std::vector<std::int64_t>(WordRing::bytes() / 8 + 8);
  [[nodiscard]] WordRing ring() {
    auto* const bytes = reinterpret_cast<std::byte*>(words.data());
    return WordRing(bytes + (64 - reinterpret_cast<std::uintptr_t>(bytes) % 64) % 64);
  }
};

std::vector<std::int64_t> entry(std::size_t words, std::int64_t value) {
  return std::vector<std::int64_t>(words, value);
}

std::vector<std::int64_t> pop(WordRing& ring) {
  std::vector<std::int64_t> words(static_cast<std::size_t>(ring.next_words()));
  ring.pop(words);
  return words;
}

TEST(a_ring_gives_entries_as_they_were_written) {
  Place place;
  WordRing writer = place.ring(), reader = place.ring();
  CHECK_EQUAL(reader.next_words(), std::int64_t{-1});
  for (std::int64_t iteration = 0; iteration < 1000; ++iteration) {  // wraps around several times
    for (std::int64_t i = 0; i < 4; ++i) {
      CHECK(writer.push(entry(static_cast<std::size_t>(iteration + i) % 50, 4 * iteration + i)));
    }
    for (std::int64_t i = 0; i < 4; ++i) {
      CHECK(pop(reader) == entry(static_cast<std::size_t>(iteration + i) % 50, 4 * iteration + i));
    }
    CHECK_EQUAL(reader.next_words(), std::int64_t{-1});
  }
}

TEST(a_ring_refuses_what_it_has_no_room_for) {
  Place place;
  WordRing ring = place.ring();
  const std::size_t most = WordRing::most_words();
  CHECK(!ring.push(entry(most + 1, 1)));
  std::int64_t written = 0;
  while (ring.push(entry(most, written))) ++written;
  CHECK(written >= 3);
  for (std::int64_t i = 0; i < written; ++i) CHECK(pop(ring) == entry(most, i));
  CHECK_EQUAL(ring.next_words(), std::int64_t{-1});
  CHECK(ring.push(entry(most, 7)));
  CHECK(pop(ring) == entry(most, 7));
}

TEST(several_write_to_a_ring_at_once) {
  Place place;
  constexpr std::int64_t writers = 4, entries = 20000;
  std::vector<std::thread> threads;
  for (std::int64_t writer = 0; writer < writers; ++writer) {
    threads.emplace_back([&, writer] {
      WordRing ring = place.ring();
      for (std::int64_t i = 0; i < entries; ++i) {
        const auto words = entry(1 + static_cast<std::size_t>(i) % 30, writer * entries + i);
        while (!ring.push(words)) std::this_thread::yield();
      }
    });
  }
  WordRing ring = place.ring();
  std::vector<std::int64_t> next(writers);
  bool right = true;
  for (std::int64_t taken = 0; taken < writers * entries;) {
    if (ring.next_words() < 0) {
      std::this_thread::yield();
      continue;
    }
    const std::vector<std::int64_t> words = pop(ring);
    const std::int64_t writer = words.front() / entries, i = words.front() % entries;
    right = right && i == next[static_cast<std::size_t>(writer)]++ &&
            words == entry(1 + static_cast<std::size_t>(i) % 30, words.front());
    ++taken;
  }
  for (std::thread& thread : threads) thread.join();
  CHECK(right);
  CHECK_EQUAL(ring.next_words(), std::int64_t{-1});
}

}  // namespace
}  // namespace vicinal::word_ring_tests
