// A queue of 64-bit words in shared memory, without locks: many ranks of a host write, one reads.
// An entry is a header and its words. A writer reserves an entry by moving the tail, writes the
// words, then publishes them by the header. The reader zeroes an entry before it moves the head, so
// an unpublished header is 0. A writer that finds too little room uses another transport: no
// process waits.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>

namespace vicinal {

class WordRing {
 public:
  /// Bytes of zeroed shared memory that a ring takes.
  static std::size_t bytes();
  /// Maximum number of words per entry.
  static std::size_t most_words();

  WordRing() = default;
  /// Opens the ring at `place`, which the caller keeps mapped. Several objects may use one ring.
  explicit WordRing(std::byte* place);
  [[nodiscard]] explicit operator bool() const { return ends_ != nullptr; }

  /// Appends an entry; returns whether there was room. Callable from any process and thread.
  [[nodiscard]] bool push(std::span<const std::int64_t> words) noexcept;
  /// Number of words of the next entry; -1 if there is none. Only the reader calls next_words() and
  /// pop().
  [[nodiscard]] std::int64_t next_words() const noexcept;
  /// Removes the next entry; `words` has its size.
  void pop(std::span<std::int64_t> words) noexcept;

 private:
  struct Ends;

  /// Consecutive words, which wrap around at the end of the memory.
  struct Stretches {
    std::span<std::int64_t> first, rest;
  };

  [[nodiscard]] std::atomic_ref<std::int64_t> header(std::uint64_t place) const;
  [[nodiscard]] Stretches stretches(std::uint64_t place, std::size_t count) const;

  Ends* ends_ = nullptr;
  std::int64_t* words_ = nullptr;
};

}  // namespace vicinal
