// Data of a sparse exchange: bytes from one rank to another. The receiver knows neither sizes nor
// senders beforehand. Parcels travel together as consecutive records: a header and the payload,
// aligned to eight bytes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <new>
#include <optional>
#include <span>
#include <vector>

#include "base/error.hpp"

namespace vicinal {

/// A message to a rank. The caller owns the memory and keeps it until the exchange completes.
struct Parcel {
  int peer = 0;
  std::span<const std::byte> bytes;
};

/// The messages that a rank received, without gaps, ordered by sender, then as sent.
struct Inbox {
  std::vector<int> ranks;                ///< sender of each message
  std::vector<std::int64_t> offsets{0};  ///< begin of each message in `data`, and end of the last
  std::vector<std::byte> data;
  /// Set if memory could not be allocated; then `ranks` is complete, but all messages look empty.
  std::optional<Error> lacking;

  /// Throws `lacking`, if set. This fault is local: the other ranks have their messages.
  void require_whole() const {
    if (lacking) throw Error(*lacking);
  }
  [[nodiscard]] std::size_t size() const { return ranks.size(); }
  [[nodiscard]] std::span<const std::byte> message(std::size_t i) const {
    const auto begin = static_cast<std::size_t>(offsets[i]);
    return std::span(data).subspan(begin, static_cast<std::size_t>(offsets[i + 1]) - begin);
  }
};

/// Collects arriving messages. A rank that fails to allocate memory for one continues, so that
/// other ranks can complete.
class Arrivals {
 public:
  /// Allocates memory for a message, at a fixed address; empty if that fails.
  std::span<std::byte> room(int source, std::size_t bytes);
  /// Copies a message that has arrived.
  void add(int source, std::span<const std::byte> bytes);

  /// Throws std::bad_alloc if memory for a message could not be allocated.
  template <class Visit>
  void for_each(Visit visit) const {
    if (lacking_) throw std::bad_alloc();
    for (const Item& item : items_) visit(item.source, bytes_of(item));
  }

  /// Sorts the messages by sender; messages of one sender keep their order.
  Inbox take();

 private:
  struct Item {
    int source = 0;
    std::size_t bytes = 0;
    std::size_t offset = 0;  ///< in the pool, if `own` is null
    std::unique_ptr<std::byte[]> own;
  };
  [[nodiscard]] std::span<const std::byte> bytes_of(const Item& item) const {
    return {item.own ? item.own.get() : pool_.data() + item.offset, item.bytes};
  }

  /// A message whose memory could not be allocated.
  struct Lacking {
    int source;
    std::size_t bytes;
  };

  std::vector<Item> items_;
  std::vector<std::byte> pool_;
  std::optional<Lacking> lacking_;  ///< the first one
};

struct RecordHeader {
  std::int32_t source = 0;
  std::int32_t target = 0;
  std::int64_t bytes = 0;  ///< if negative, -bytes bytes come directly from the source
};

struct Record {
  RecordHeader header;
  std::span<const std::byte> payload;  ///< empty if it comes directly
};

[[nodiscard]] inline std::size_t bytes_of(const Record& record) {
  return sizeof(RecordHeader) + (record.payload.size() + 7) / 8 * 8;
}

/// Writes the record at `to`; returns its end.
inline std::byte* write_record(std::byte* to, const Record& record) {
  std::memcpy(to, &record.header, sizeof(RecordHeader));
  if (!record.payload.empty()) {
    std::memcpy(to + sizeof(RecordHeader), record.payload.data(), record.payload.size());
  }
  return to + bytes_of(record);
}

inline void append_record(std::vector<std::byte>& to, const Record& record) {
  const std::size_t begin = to.size();
  to.resize(begin + bytes_of(record));
  write_record(to.data() + begin, record);
}

template <class Visit>
void for_each_record(std::span<const std::byte> bytes, const Visit& visit) {
  while (!bytes.empty()) {
    Record record;
    std::memcpy(&record.header, bytes.data(), sizeof(RecordHeader));
    if (record.header.bytes > 0) {
      record.payload =
          bytes.subspan(sizeof(RecordHeader), static_cast<std::size_t>(record.header.bytes));
    }
    visit(record);
    bytes = bytes.subspan(bytes_of(record));
  }
}

}  // namespace vicinal
