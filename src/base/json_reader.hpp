// Reading JSON that a person may have edited, in a library that C programs link: a strict reader of one page,
// since what would have to come along otherwise is larger than all that it would read here. Whatever the bytes
// are, either a value comes of them or an info fault that says where, and what was expected there.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace vicinal {

/// A value, and where it stands. Members are in the order of the text, and their names differ.
class JsonValue {
 public:
  using Array = std::vector<JsonValue>;
  using Object = std::vector<std::pair<std::string, JsonValue>>;

  [[nodiscard]] const bool* truth() const { return std::get_if<bool>(&value_); }
  [[nodiscard]] const double* number() const { return std::get_if<double>(&value_); }
  [[nodiscard]] const std::string* text() const { return std::get_if<std::string>(&value_); }
  [[nodiscard]] const Array* array() const { return std::get_if<Array>(&value_); }
  [[nodiscard]] const Object* object() const { return std::get_if<Object>(&value_); }

  /// What it is, for messages: "null", "the number 3", "an array", ...
  [[nodiscard]] std::string described() const;
  /// Line and column of its first character, from 1.
  [[nodiscard]] std::size_t line() const { return line_; }
  [[nodiscard]] std::size_t column() const { return column_; }

 private:
  friend class JsonReader;
  std::variant<std::monostate, bool, double, std::string, Array, Object> value_;
  std::size_t line_ = 1;
  std::size_t column_ = 1;
};

/// Reads one value, which must be all of the text (RFC 8259; strings must be UTF-8, names in an object differ,
/// numbers fit a double). Throws an info fault that begins with `origin`, what is read, and its line and column.
JsonValue read_json(std::string_view text, std::string_view origin);

}  // namespace vicinal
