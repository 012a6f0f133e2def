// JSON, written and read. Other programs read our reports as JSON. A streaming writer is enough,
// and too small to justify a dependency. It places the commas and escapes the strings.
//
// A strict reader reads JSON that users may have edited. C programs link this library, and any JSON
// dependency would be larger than all the text to read. For any input bytes, the reader returns a
// value or throws an info fault. The fault gives the position and what was expected there.
#pragma once

#include <charconv>
#include <cmath>
#include <concepts>
#include <cstddef>
#include <ostream>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace vicinal {

/// Writes one JSON value to a stream:
///   json.begin_object().key("rank").value(3).key("runs").begin_array().end_array().end_object();
class JsonWriter {
 public:
  explicit JsonWriter(std::ostream& out) : out_(out) {}

  JsonWriter& begin_object() { return open('{'); }
  JsonWriter& end_object() { return close('}'); }
  JsonWriter& begin_array() { return open('['); }
  JsonWriter& end_array() { return close(']'); }

  JsonWriter& key(std::string_view name) {
    separate();
    write_string(name);
    out_ << ": ";
    after_key_ = true;
    return *this;
  }

  JsonWriter& value(std::string_view text) {
    separate();
    write_string(text);
    return *this;
  }
  JsonWriter& value(const char* text) { return value(std::string_view(text)); }
  JsonWriter& value(std::same_as<bool> auto truth) {
    separate();
    out_ << (truth ? "true" : "false");
    return *this;
  }
  JsonWriter& value(std::integral auto number)
    requires(!std::same_as<decltype(number), bool>)
  {
    separate();
    out_ << std::to_string(number);
    return *this;
  }
  /// Writes the shortest text that reads back as the same number; null for infinities and NaN.
  JsonWriter& value(double number) {
    separate();
    if (!std::isfinite(number)) {
      out_ << "null";
      return *this;
    }
    char text[32];
    const auto end = std::to_chars(text, text + sizeof text, number).ptr;
    out_ << std::string_view(text, static_cast<std::size_t>(end - text));
    return *this;
  }

 private:
  JsonWriter& open(char bracket) {
    separate();
    out_ << bracket;
    has_members_.push_back(false);
    return *this;
  }
  JsonWriter& close(char bracket) {
    has_members_.pop_back();
    out_ << bracket;
    return *this;
  }

  void separate() {
    if (after_key_) {
      after_key_ = false;
      return;
    }
    if (has_members_.empty()) return;
    if (has_members_.back()) out_ << ", ";
    has_members_.back() = true;
  }

  void write_string(std::string_view text) {
    constexpr char digits[] = "0123456789abcdef";
    out_ << '"';
    for (const char c : text) {
      const auto byte = static_cast<unsigned char>(c);
      if (c == '"' || c == '\\') {
        out_ << '\\' << c;
      } else if (c == '\n') {
        out_ << "\\n";
      } else if (c == '\t') {
        out_ << "\\t";
      } else if (byte < 0x20) {
        out_ << "\\u00" << digits[byte >> 4] << digits[byte & 15];
      } else {
        out_ << c;
      }
    }
    out_ << '"';
  }

  std::ostream& out_;
  std::vector<bool> has_members_;  ///< one per open bracket
  bool after_key_ = false;
};

/// A value and its position in the text. Object members keep the order of the text; their names are
/// unique.
class JsonValue {
 public:
  using Array = std::vector<JsonValue>;
  using Object = std::vector<std::pair<std::string, JsonValue>>;

  [[nodiscard]] const bool* truth() const { return std::get_if<bool>(&value_); }
  [[nodiscard]] const double* number() const { return std::get_if<double>(&value_); }
  [[nodiscard]] const std::string* text() const { return std::get_if<std::string>(&value_); }
  [[nodiscard]] const Array* array() const { return std::get_if<Array>(&value_); }
  [[nodiscard]] const Object* object() const { return std::get_if<Object>(&value_); }

  /// Returns a description for messages: "null", "3", "an array", ...
  [[nodiscard]] std::string described() const;
  /// Line and column of the first character, from 1.
  [[nodiscard]] std::size_t line() const { return line_; }
  [[nodiscard]] std::size_t column() const { return column_; }

 private:
  friend class JsonReader;
  std::variant<std::monostate, bool, double, std::string, Array, Object> value_;
  std::size_t line_ = 1;
  std::size_t column_ = 1;
};

/// Reads one value that must span the whole text (RFC 8259). Strings must be UTF-8, names in an
/// object unique, and numbers must fit a double. Throws an info fault that begins with `origin`
/// (the name of the input), line and column.
JsonValue read_json(std::string_view text, std::string_view origin);

}  // namespace vicinal
