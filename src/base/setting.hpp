// All settings, one row of a table each: what they are called, what may be written for them, what holds
// where nothing is, and what all ranks must give alike. Reading, checking, comparing, messages and the
// header's text follow from the row. A new setting is a row here, a paragraph in
// include/vicinal/vicinal.h (a test compares the two), and, where it is one of calls, a member in
// src/collectives/settings.cpp.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/given.hpp"

namespace vicinal {

/// Who can give a setting.
enum class SettingScope : std::uint8_t {
  call,     ///< an info key of the functions that make something, and the environment, which wins
  process,  ///< the environment only
};

/// What may be written for a setting.
enum class SettingForm : std::uint8_t {
  words,         ///< one of several
  whole_number,  ///< from a least to a largest
  amount,        ///< a number, not negative; `values` says of what to people
  special,       ///< whoever uses it knows; `values` says it to people
};

struct Setting {
  std::string_view key;  ///< the environment variable is the same in upper case
  std::string_view
      standard;  ///< what holds where nothing is given, as it would be written; "" for none
  std::string_view meaning;  ///< in half a sentence, to which what may be written is added
  SettingForm form = SettingForm::words;
  std::string_view values = {};  ///< words: all of them, a space between two; else: for people
  std::int64_t least = 0;        ///< of whole numbers
  std::int64_t largest = 0;
  SettingScope scope = SettingScope::call;
  bool alike = true;  ///< all ranks must give the same
  /// It is the name of a file: what must be alike is what is in there, wherever a node keeps it.
  bool is_path = false;
};

/// How many executions of one plan may be in flight.
inline constexpr int most_in_flight = 8;

std::span<const Setting> all_settings();
/// The row of a key; an internal fault where there is none.
const Setting& setting(std::string_view key);

/// "'shared' or 'messages'", "a whole number from 1 to 8": what may be written for it.
std::string expected(const Setting& setting);
/// "KEY: MEANING: EXPECTED (default 'D')", as the header has it; the variable's name where there is no key.
std::string described(const Setting& setting);

/// Throws the fault of a value that cannot be read: "NAME is 'TEXT', but EXPECTED is expected", and the word that was
/// meant, where one is near. The name is the key or the variable, whichever gave it.
[[noreturn]] void refuse(const Setting& setting, std::string_view name, std::string_view text);
/// Does so unless the text is of the setting's form.
void check(const Setting& setting, std::string_view name, std::string_view text);

/// The environment variable of a key.
std::string variable_of(std::string_view key);
/// A path that the environment names: from where the process was when the library was loaded, wherever it has gone to since.
std::string from_start(const std::string& path);
/// The path of a file that a setting names. What the program names itself is from where it is.
std::string path_of(std::string_view key, const std::string& path);
/// What the environment says of a key; an empty variable is none.
std::optional<std::string> environment_value(std::string_view key);
/// The same, of the variables that could be settings: for whoever asks for many keys, while the environment stays.
std::vector<const char*> own_variables();
std::optional<std::string> environment_value(std::span<const char* const> own,
                                             std::string_view key);
/// The same, or else what holds where nothing is given.
std::string process_value(std::string_view key);
/// Throws the fault of the first variable of the process that cannot be read.
void check_environment();

/// Warns of each environment variable that looks like a setting and is none, with the nearest one.
void warn_of_unknown_variables();
/// The same of info keys that no function takes.
void warn_of_unknown_keys(std::span<const std::string> keys);

/// The number that a text is, all of it.
std::optional<std::int64_t> read_whole_number(std::string_view text);
/// The number, not negative, that a text is.
std::optional<double> read_amount(std::string_view text);
/// Of the words for yes and no.
bool is_yes(std::string_view text);

/// What all processes must have alike: the version of the library, and of the environment the settings
/// that all ranks must give alike, other than names of files.
std::vector<Given> given_by_process();

}  // namespace vicinal
