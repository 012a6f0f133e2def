// Tests the JSON reader: valid input, the positions of errors, and random bytes.
#include "base/json.hpp"

#include <random>
#include <string>
#include <string_view>

#include "check.hpp"

namespace vicinal::json_reader_tests {
namespace {

/// Writes the value back, for comparison.
void write(JsonWriter& json, const JsonValue& value) {
  if (const bool* truth = value.truth()) {
    json.value(*truth);
  } else if (const double* number = value.number()) {
    json.value(*number);
  } else if (const std::string* text = value.text()) {
    json.value(*text);
  } else if (const JsonValue::Array* array = value.array()) {
    json.begin_array();
    for (const JsonValue& each : *array) write(json, each);
    json.end_array();
  } else if (const JsonValue::Object* object = value.object()) {
    json.begin_object();
    for (const auto& [name, each] : *object) write(json.key(name), each);
    json.end_object();
  } else {
    json.value(1.0 / 0.0);  // null
  }
}

std::string again(const std::string& text) {
  std::ostringstream out;
  JsonWriter json(out);
  write(json, read_json(text, "it"));
  return out.str();
}

void refused(const std::string& text, const std::string& words) {
  CHECK_THROWS(Fault::info, read_json(text, "it"), words);
}

const std::string all_kinds =
    "{\"a\": [1, -2.5, 1e-07, true, false, null], \"b\": {\"c\": \"d \\\"e\\\\ \\n\"}, \"f\": {}, "
    "\"g\": [], \"h\": \"\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80\"}";

}  // namespace

TEST(json_is_read_as_it_was_written) {
  CHECK_EQUAL(again(all_kinds), all_kinds);
  CHECK_EQUAL(again(" \t\r\n[ 1 ,\n2 ]\n"), std::string("[1, 2]"));
  CHECK_EQUAL(*read_json("0.1", "it").number(), 0.1);
  CHECK_EQUAL(*read_json("-1E+2", "it").number(), -100.0);
  CHECK_EQUAL(*read_json(R"("\u0041\u00e9\u20AC\ud83d\ude00\/\b\f\r\t")", "it").text(),
              std::string("A\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80/\b\f\r\t"));
  const JsonValue value = read_json("{\n  \"a\": {\"b\": 1}}", "it");
  const JsonValue& inner = value.object()->front().second;
  CHECK_EQUAL(inner.line(), 2U);
  CHECK_EQUAL(inner.column(), 8U);
  CHECK_EQUAL(inner.described(), std::string("an object"));
  CHECK_EQUAL(read_json("3.5", "it").described(), std::string("3.5"));
  CHECK_EQUAL(read_json("null", "it").described(), std::string("null"));
}

TEST(json_faults_say_where_and_what_was_expected) {
  refused("", "it, line 1, column 1: a value is expected, but there is the end of the text");
  refused("{\n \"a\": 1,\n}",
          "it, line 3, column 1: a name in double quotes is expected, but there is '}'");
  refused(
      "[1, 2",
      "column 6: ',' or ']' is expected, but there is the end of the text: perhaps it was cut off");
  refused("{\"a\" 1}", "':' is expected, but there is '1'");
  refused("{\"a\": 1, \"a\": 2}", "line 1, column 10: 'a' is given twice");
  refused("[1] 2", "nothing more is expected, but there is '2'");
  refused("nil", "a value is expected, but there is 'n'");
  refused(
      "nul",
      "the rest of 'null' is expected, but there is the end of the text: perhaps it was cut off");
  refused("NaN", "a value is expected, but there is 'N'");
  refused("-Infinity", "a digit is expected");
  refused("'a'", "a value is expected, but there is '''");
  refused("01", "nothing more is expected, but there is '1'");
  for (const char* wrong : {"1.", "1.e2", "1e", "1e+", "-", ".5", "+1"})
    refused(wrong, "is expected");
  refused("1e999", "1e999 is too large or too small for a number");
  refused("\"a", "'\"' at the end of a string is expected");
  refused("\"a\nb\"", "a character of a string is expected, but there is byte 0x0a");
  refused("\"\\x\"", "after a backslash is expected, but there is 'x'");
  refused("\"\\u12g4\"", "a number of four hexadecimal digits is expected");
  for (const char* lone : {"\"\\ud800\"", "\"\\udc00\"", "\"\\ud800\\u0041\""}) {
    refused(lone, "half of a surrogate pair stands alone");
  }
  // A lone continuation byte, overlong encodings, a surrogate, and a code point beyond the last.
  for (const char* wrong :
       {"\"\x80\"", "\"\xc0\xaf\"", "\"\xe0\x80\xaf\"", "\"\xe0\x9f\xbf\"", "\"\xed\xa0\x80\"",
        "\"\xf4\x90\x80\x80\"", "\"\xe2\x82\"", "\"\xff\""}) {
    refused(wrong, "a character in UTF-8 is expected, but there is byte 0x");
  }
  refused(std::string(100000, '['), "brackets are nested too deep");
}

TEST(json_survives_garbage) {
  std::mt19937 random(1);
  const auto read = [](const std::string& text) {
    try {
      static_cast<void>(read_json(text, "it"));
    } catch (const Error& error) {
      CHECK(error.fault() == Fault::info);
    }
  };
  for (std::size_t length = 0; length < all_kinds.size(); ++length) {
    refused(all_kinds.substr(0, length), "is expected");
    for (int byte = 0; byte < 256; ++byte) {
      std::string changed = all_kinds;
      changed[length] = static_cast<char>(byte);
      read(changed);
    }
  }
  constexpr std::string_view letters = "{}[]\",:\\u0123e+-.tfn \n\x80\xe2";
  for (int turn = 0; turn < 20000; ++turn) {
    std::string text(random() % 40, ' ');
    for (char& c : text) c = letters[random() % letters.size()];
    read(text);
  }
}

}  // namespace vicinal::json_reader_tests
