// Records serialized as 64-bit words, for control messages. A record is a struct with one list of
// its fields. Writer and reader use the same list, so they always agree:
//
//   struct Offer {
//     Status status;
//     std::vector<Place> places;
//   };
//   void fields(auto&& take, Is<Offer> auto& it) { take(it.status, it.places); }
//
// A field is a number, an enumerator, a string, a record, or a list or optional of these. The
// reader checks every length against the words that are left.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "base/error.hpp"

namespace vicinal {

using Words = std::vector<std::int64_t>;

/// A record that is being written (const) or read.
template <class Given, class Record>
concept Is = std::is_same_v<std::remove_const_t<Given>, Record>;

namespace detail {

template <class Value>
concept Number = std::is_integral_v<Value> || std::is_enum_v<Value>;

template <class Value>
concept List = requires(Value& list) { list.resize(list.size()); };

/// Returns the number of words that hold `bytes` bytes of text.
constexpr std::size_t words_for(std::size_t bytes) {
  return (bytes + sizeof(std::int64_t) - 1) / sizeof(std::int64_t);
}

template <class Value>
concept Optional = requires(Value& value) { value.reset(); };

}  // namespace detail

class WordWriter {
 public:
  explicit WordWriter(Words& words) : words_(words) {}

  template <class Value>
  void write(const Value& value) {
    if constexpr (detail::Number<Value>) {
      words_.push_back(static_cast<std::int64_t>(value));
    } else if constexpr (detail::Optional<Value>) {
      write(value.has_value());
      if (value) write(*value);
    } else if constexpr (std::is_same_v<Value, Words>) {
      write(value.size());
      words_.insert(words_.end(), value.begin(), value.end());
    } else if constexpr (std::is_same_v<Value, std::string>) {
      write(value.size());
      const std::size_t at = words_.size();
      words_.resize(at + detail::words_for(value.size()), 0);
      if (!value.empty()) std::memcpy(words_.data() + at, value.data(), value.size());
    } else if constexpr (detail::List<Value>) {
      write(value.size());
      for (const auto& entry : value) write(entry);
    } else {
      fields([this](const auto&... field) { (this->write(field), ...); }, value);
    }
  }

 private:
  Words& words_;
};

class WordReader {
 public:
  /// `what` describes the words, and `writer` is the rank that wrote them (-1 for this rank), for
  /// fault messages.
  WordReader(std::span<const std::int64_t> words, std::string_view what, int writer = -1)
      : words_(words), what_(what), writer_(writer) {}

  template <class Value>
  void read(Value& value) {
    if constexpr (detail::Number<Value>) {
      value = static_cast<Value>(next());
    } else if constexpr (detail::Optional<Value>) {
      if (next() != 0) read(value.emplace());
    } else if constexpr (std::is_same_v<Value, Words>) {
      const auto read = words_.first(size());
      value.assign(read.begin(), read.end());
      words_ = words_.subspan(read.size());
    } else if constexpr (std::is_same_v<Value, std::string>) {
      const auto bytes = size(sizeof(std::int64_t));
      const auto read = words_.first(detail::words_for(bytes));
      value.resize(bytes);
      if (bytes > 0) std::memcpy(value.data(), read.data(), bytes);
      words_ = words_.subspan(read.size());
    } else if constexpr (detail::List<Value>) {
      value.resize(size());
      for (auto& entry : value) read(entry);
    } else {
      fields([this](auto&... field) { (this->read(field), ...); }, value);
    }
  }
  template <class Value>
  Value read() {
    Value value{};
    read(value);
    return value;
  }
  /// Returns the unread words.
  [[nodiscard]] std::span<const std::int64_t> rest() const { return words_; }
  /// Throws an internal fault if unread words are left.
  void finish() const {
    if (!words_.empty()) refuse("has ", words_.size(), " words too many");
  }

 private:
  std::int64_t next() {
    if (words_.empty()) refuse("ends too early");
    const std::int64_t word = words_.front();
    words_ = words_.subspan(1);
    return word;
  }
  /// Reads the size of a list of which one word holds at most `entries_per_word` entries.
  std::size_t size(std::size_t entries_per_word = 1) {
    const std::int64_t size = next();
    if (size < 0 || static_cast<std::size_t>(size) > entries_per_word * words_.size()) {
      refuse("announces ", size, " entries, but ", words_.size(), " words are left");
    }
    return static_cast<std::size_t>(size);
  }
  template <class... Parts>
  [[noreturn]] void refuse(const Parts&... parts) const {
    if (writer_ < 0) fail(Fault::internal, what_, " ", parts...);
    fail(Fault::internal, "a control message (", what_, ") from rank ", writer_, " ", parts...);
  }

  std::span<const std::int64_t> words_;
  std::string_view what_;
  int writer_;
};

}  // namespace vicinal
