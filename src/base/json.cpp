// The reader: a recursive descent parser over the bytes of the text.
#include "base/json.hpp"

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <cstdio>
#include <sstream>
#include <tuple>

#include "base/error.hpp"

namespace vicinal {

namespace {

/// Maximum nesting depth: more than any real input needs, and safe for every stack.
constexpr int deepest = 64;

bool is_space(char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r'; }
bool is_digit(char c) { return c >= '0' && c <= '9'; }

/// Returns a printable form of any byte, for messages.
std::string shown(char c) {
  if (c >= 0x20 && c < 0x7f) return std::string("'") + c + "'";
  char text[16];
  std::snprintf(text, sizeof text, "byte 0x%02x", static_cast<unsigned>(c) & 0xffU);
  return text;
}

void append_utf8(std::string& text, std::uint32_t code) {
  const auto put = [&](std::uint32_t byte) { text += static_cast<char>(byte); };
  if (code < 0x80) {
    put(code);
  } else if (code < 0x800) {
    put(0xc0U | code >> 6U);
    put(0x80U | (code & 0x3fU));
  } else if (code < 0x10000) {
    put(0xe0U | code >> 12U);
    put(0x80U | (code >> 6U & 0x3fU));
    put(0x80U | (code & 0x3fU));
  } else {
    put(0xf0U | code >> 18U);
    put(0x80U | (code >> 12U & 0x3fU));
    put(0x80U | (code >> 6U & 0x3fU));
    put(0x80U | (code & 0x3fU));
  }
}

/// Returns the length in bytes of the UTF-8 character at the start of `text`; 0 if it is not valid
/// UTF-8.
std::size_t utf8_length(std::string_view text) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  if (byte(0) < 0x80) return 1;
  const std::size_t length = byte(0) >= 0xf0 ? 4 : byte(0) >= 0xe0 ? 3 : 2;
  if (byte(0) < 0xc2 || byte(0) > 0xf4 || text.size() < length) return 0;
  std::uint32_t code = byte(0) & (0xffU >> (length + 1));
  for (std::size_t i = 1; i < length; ++i) {
    if ((byte(i) & 0xc0U) != 0x80) return 0;
    code = code << 6U | (byte(i) & 0x3fU);
  }
  const bool is_surrogate = code >= 0xd800 && code < 0xe000;
  const bool is_longer_than_needed =
      (length == 3 && code < 0x800) || (length == 4 && code < 0x10000);
  return is_surrogate || is_longer_than_needed || code > 0x10ffff ? 0 : length;
}

}  // namespace

std::string JsonValue::described() const {
  if (truth() != nullptr) return *truth() ? "true" : "false";
  if (text() != nullptr) return "'" + *text() + "'";
  if (array() != nullptr) return "an array";
  if (object() != nullptr) return "an object";
  if (number() == nullptr) return "null";
  std::ostringstream out;
  out << *number();
  return std::move(out).str();
}

/// The parser: a text and the current position in it.
class JsonReader {
 public:
  JsonReader(std::string_view text, std::string_view origin) : text_(text), origin_(origin) {}

  JsonValue whole() {
    JsonValue value = read_value(0);
    skip_space();
    if (at_ < text_.size()) expected("nothing more");
    return value;
  }

 private:
  [[noreturn]] void refuse(std::size_t where, const std::string& what) const {
    const auto [line, column] = place(where);
    fail(Fault::info, origin_, ", line ", line, ", column ", column, ": ", what);
  }
  [[noreturn]] void expected(const char* what) const {
    const std::string found = at_ < text_.size() ? shown(text_[at_]) : "the end of the text";
    refuse(at_, std::string(what) + " is expected, but there is " + found +
                    (at_ < text_.size() ? "" : ": perhaps it was cut off"));
  }
  /// Returns line and column. No token contains a line break, so `line_start_` is also right for
  /// the current token.
  [[nodiscard]] std::pair<std::size_t, std::size_t> place(std::size_t where) const {
    return {line_, where - line_start_ + 1};
  }

  void skip_space() {
    for (; at_ < text_.size() && is_space(text_[at_]); ++at_) {
      if (text_[at_] != '\n') continue;
      ++line_;
      line_start_ = at_ + 1;
    }
  }
  [[nodiscard]] bool sees(char c) const { return at_ < text_.size() && text_[at_] == c; }
  bool take(char c) {
    if (!sees(c)) return false;
    ++at_;
    return true;
  }
  bool take_word(std::string_view word) {
    const std::string_view rest = text_.substr(at_);
    if (!rest.empty() && rest.size() < word.size() && word.starts_with(rest)) {
      at_ = text_.size();
      expected(("the rest of '" + std::string(word) + "'").c_str());
    }
    if (!rest.starts_with(word)) return false;
    at_ += word.size();
    return true;
  }

  JsonValue read_value(int depth) {
    skip_space();
    if (depth > deepest) refuse(at_, "brackets are nested too deep");
    JsonValue value;
    std::tie(value.line_, value.column_) = place(at_);
    if (sees('{')) {
      value.value_ = read_object(depth);
    } else if (sees('[')) {
      value.value_ = read_array(depth);
    } else if (sees('"')) {
      value.value_ = read_string();
    } else if (take_word("true")) {
      value.value_ = true;
    } else if (take_word("false")) {
      value.value_ = false;
    } else if (!take_word("null")) {
      value.value_ = read_number();
    }
    return value;
  }

  JsonValue::Object read_object(int depth) {
    JsonValue::Object members;
    take('{');
    skip_space();
    if (take('}')) return members;
    do {
      skip_space();
      const std::size_t start = at_;
      if (!sees('"')) expected("a name in double quotes");
      std::string name = read_string();
      const bool twice = std::any_of(members.begin(), members.end(),
                                     [&](const auto& member) { return member.first == name; });
      if (twice) refuse(start, "'" + name + "' is given twice");
      skip_space();
      if (!take(':')) expected("':'");
      members.emplace_back(std::move(name), read_value(depth + 1));
      skip_space();
    } while (take(','));
    if (!take('}')) expected("',' or '}'");
    return members;
  }

  JsonValue::Array read_array(int depth) {
    JsonValue::Array values;
    take('[');
    skip_space();
    if (take(']')) return values;
    do {
      values.push_back(read_value(depth + 1));
      skip_space();
    } while (take(','));
    if (!take(']')) expected("',' or ']'");
    return values;
  }

  std::string read_string() {
    std::string result;
    take('"');
    while (!sees('"')) {
      if (at_ >= text_.size()) expected("'\"' at the end of a string");
      if (take('\\')) {
        read_escape(result);
        continue;
      }
      if (static_cast<unsigned char>(text_[at_]) < 0x20) expected("a character of a string");
      const std::size_t length = utf8_length(text_.substr(at_));
      if (length == 0) expected("a character in UTF-8");
      result += text_.substr(at_, length);
      at_ += length;
    }
    take('"');
    return result;
  }

  void read_escape(std::string& result) {
    constexpr std::string_view letters = "\"\\/bfnrt", meant = "\"\\/\b\f\n\r\t";
    const std::size_t which =
        at_ < text_.size() ? letters.find(text_[at_]) : std::string_view::npos;
    if (which != std::string_view::npos) {
      result += meant[which];
      ++at_;
      return;
    }
    if (!take('u')) expected("one of \"\\/bfnrtu after a backslash");
    const std::size_t start = at_;
    std::uint32_t code = read_hexadecimal();
    if (code >= 0xdc00 && code < 0xe000) refuse(start, "half of a surrogate pair stands alone");
    if (code >= 0xd800 && code < 0xdc00) {
      const std::uint32_t low = take_word("\\u") ? read_hexadecimal() : 0;
      if (low < 0xdc00 || low >= 0xe000) refuse(start, "half of a surrogate pair stands alone");
      code = 0x10000 + ((code - 0xd800) << 10U) + (low - 0xdc00);
    }
    append_utf8(result, code);
  }

  std::uint32_t read_hexadecimal() {
    std::uint32_t code = 0;
    const std::string_view digits = text_.substr(at_, 4);
    if (digits.size() < 4) at_ = text_.size();
    const char* end = digits.data() + digits.size();
    const auto [stopped, error] = std::from_chars(digits.data(), end, code, 16);
    if (digits.size() < 4 || error != std::errc() || stopped != end) {
      expected("a number of four hexadecimal digits");
    }
    at_ += 4;
    return code;
  }

  void skip_digits() {
    if (at_ >= text_.size() || !is_digit(text_[at_])) expected("a digit");
    while (at_ < text_.size() && is_digit(text_[at_])) ++at_;
  }

  double read_number() {
    const std::size_t start = at_;
    take('-');
    if (at_ >= text_.size() || !is_digit(text_[at_]))
      expected(at_ == start ? "a value" : "a digit");
    if (!take('0')) skip_digits();
    if (take('.')) skip_digits();
    if (take('e') || take('E')) {
      if (!take('+')) take('-');
      skip_digits();
    }
    double number = 0;
    const std::string_view digits = text_.substr(start, at_ - start);
    const auto [_, error] = std::from_chars(digits.data(), digits.data() + digits.size(), number);
    if (error != std::errc()) {
      refuse(start, std::string(digits) + " is too large or too small for a number");
    }
    return number;
  }

  std::string_view text_;
  std::string_view origin_;
  std::size_t at_ = 0;
  std::size_t line_ = 1;
  std::size_t line_start_ = 0;
};

JsonValue read_json(std::string_view text, std::string_view origin) {
  return JsonReader(text, origin).whole();
}

}  // namespace vicinal
