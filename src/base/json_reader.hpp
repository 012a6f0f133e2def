// A strict reader of JSON that users may have edited. C programs link this library, and any JSON
// dependency would be larger than all the text to read. For any input bytes, the reader returns a
// value or throws an info fault. The fault gives the position and what was expected there.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace vicinal {

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
