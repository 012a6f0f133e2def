// What a sparse exchange moves: raw bytes from one rank to another, whose sizes and senders the
// receiver does not know beforehand.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>
#include <optional>
#include <span>
#include <vector>

#include "base/error.hpp"

namespace vicinal {

/// What is sent to a rank. The memory is the caller's, until the exchange is over.
struct Parcel {
  int peer = 0;
  std::span<const std::byte> bytes;
};

/// What a rank has received: one message after the other without gaps, by sender, then as sent.
struct Inbox {
  std::vector<int> ranks;                ///< the sender of each
  std::vector<std::int64_t> offsets{0};  ///< where each begins in `data`, and where the last ends
  std::vector<std::byte> data;
  /// Why there are senders only and all messages seem to be empty, where there was no memory for them.
  std::optional<Error> lacking;

  /// Throws what is lacking. A fault of this rank alone: the others have what is theirs.
  void require_whole() const {
    if (lacking) throw Error(*lacking);
  }
  [[nodiscard]] std::size_t size() const { return ranks.size(); }
  [[nodiscard]] std::span<const std::byte> message(std::size_t i) const {
    const auto begin = static_cast<std::size_t>(offsets[i]);
    return std::span(data).subspan(begin, static_cast<std::size_t>(offsets[i + 1]) - begin);
  }
};

/// Messages as they come in. A rank that has no memory for one goes on taking part, since the others wait for it.
class Arrivals {
 public:
  /// Room for a message, which stays in place; none where there is no memory for it.
  std::span<std::byte> room(int source, std::size_t bytes);
  /// A message that is there; it is copied.
  void add(int source, std::span<const std::byte> bytes);

  /// Throws std::bad_alloc where there was no memory for one.
  template <class Visit>
  void for_each(Visit visit) const {
    if (lacking_) throw std::bad_alloc();
    for (const Item& item : items_) visit(item.source, bytes_of(item));
  }

  /// Sorts them; those of one sender stay in the order in which they were put here.
  Inbox take();

 private:
  struct Item {
    int source = 0;
    std::size_t bytes = 0;
    std::size_t offset = 0;  ///< in the pool, where it has no memory of its own
    std::unique_ptr<std::byte[]> own;
  };
  [[nodiscard]] std::span<const std::byte> bytes_of(const Item& item) const {
    return {item.own ? item.own.get() : pool_.data() + item.offset, item.bytes};
  }

  /// A message for which there was no memory.
  struct Lacking {
    int source;
    std::size_t bytes;
  };

  std::vector<Item> items_;
  std::vector<std::byte> pool_;
  std::optional<Lacking> lacking_;  ///< the first
};

}  // namespace vicinal
