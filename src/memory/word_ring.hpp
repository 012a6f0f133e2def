// A queue of words in shared memory: many ranks of a host write to it, one reads. Each entry is a header, then its words. A
// writer reserves the place of an entry by moving the tail, writes the words, and the header last, which says that they are
// there. The reader zeroes what it has read before it moves the head, so a header that is not there yet is 0. A writer that
// finds too little room has to go another way: nobody waits for anybody.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>

namespace vicinal {

class WordRing {
 public:
  /// Bytes of shared memory, zeroed, that a ring takes.
  static std::size_t bytes();
  /// The longest entry that it takes.
  static std::size_t most_words();

  WordRing() = default;
  /// The ring at that place, which the caller keeps mapped. Any number of them may be made.
  explicit WordRing(std::byte* place);
  [[nodiscard]] explicit operator bool() const { return ends_ != nullptr; }

  /// Appends an entry; whether there was room. From any process and thread.
  [[nodiscard]] bool push(std::span<const std::int64_t> words) noexcept;
  /// How many words the next entry has; -1: none is there. By the reader alone, as what follows.
  [[nodiscard]] std::int64_t next_words() const noexcept;
  /// Takes the next entry out, into as many words as it has.
  void pop(std::span<std::int64_t> words) noexcept;

 private:
  struct Ends;

  /// Words that follow each other, up to the end of the memory and on from its beginning.
  struct Stretches {
    std::span<std::int64_t> first, rest;
  };

  [[nodiscard]] std::atomic_ref<std::int64_t> header(std::uint64_t place) const;
  [[nodiscard]] Stretches stretches(std::uint64_t place, std::size_t count) const;

  Ends* ends_ = nullptr;
  std::int64_t* words_ = nullptr;
};

}  // namespace vicinal
