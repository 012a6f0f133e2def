// Parcels travel together as consecutive records: a header and the payload, aligned to eight bytes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <vector>

namespace vicinal {

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
