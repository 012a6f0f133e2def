// The table of all settings, one row each: name, allowed values, default, and whether all ranks
// must agree. Parsing, checks, comparison, messages and the text in the header all use the row. A
// new setting needs a row here and a paragraph in include/vicinal/vicinal.h (a test compares the
// two). A setting of calls also needs a member in src/collectives/settings.cpp. Misspelled words
// get suggestions.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/given.hpp"

namespace vicinal {

/// Sources from which a setting can come.
enum class SettingScope : std::uint8_t {
  call,     ///< an info key of functions that create objects, or the environment (takes precedence)
  process,  ///< the environment only
};

/// Form of the allowed values of a setting.
enum class SettingForm : std::uint8_t {
  words,         ///< one of several words
  whole_number,  ///< between `least` and `largest`
  amount,        ///< a non-negative number; `values` describes it to users
  special,       ///< parsed by the code that uses it; `values` describes it to users
};

struct Setting {
  std::string_view key;       ///< the environment variable has the same name in upper case
  std::string_view standard;  ///< the default, as a user would write it; "" for none
  std::string_view meaning;   ///< half a sentence; messages append the allowed values
  SettingForm form = SettingForm::words;
  std::string_view values = {};  ///< words: all of them, separated by spaces; else: a description
  std::int64_t least = 0;        ///< of a whole number
  std::int64_t largest = 0;
  SettingScope scope = SettingScope::call;
  bool alike = true;  ///< all ranks must give the same value
  /// The value is a file name. Ranks compare the file's contents, since each node may keep it
  /// elsewhere.
  bool is_path = false;
};

/// Maximum number of executions of one plan in flight.
inline constexpr int most_in_flight = 8;

std::span<const Setting> all_settings();
/// Returns the row of a key. Throws an internal fault for an unknown key.
const Setting& setting(std::string_view key);

/// Returns the allowed values: "'shared' or 'messages'", "a whole number from 1 to 8".
std::string expected(const Setting& setting);
/// Returns "KEY MEANING: EXPECTED (default 'D')". Settings of the process have their variable in
/// place of the key.
std::string described(const Setting& setting);

/// Throws the fault of an invalid value: "NAME is 'TEXT', but EXPECTED is expected". The message
/// suggests a similar word where one exists. `name` is the key or the variable that gave the value.
[[noreturn]] void refuse(const Setting& setting, std::string_view name, std::string_view text);
/// Calls refuse() unless the text has the setting's form.
void check(const Setting& setting, std::string_view name, std::string_view text);

/// Returns the environment variable of a key.
std::string variable_of(std::string_view key);
/// Resolves a path from the environment. Relative paths start at the working directory at load
/// time, even if the process has changed it since.
std::string from_start(const std::string& path);
/// Resolves the path of a file that a setting names. Relative paths from the program start at the
/// current directory.
std::string path_of(std::string_view key, const std::string& path);
/// Returns the value of a key in the environment. An empty variable counts as unset.
std::optional<std::string> environment_value(std::string_view key);
/// Returns the variables that begin with VICINAL_, for callers that look up many keys. The pointers
/// stay valid while the environment is unchanged.
std::vector<const char*> own_variables();
std::optional<std::string> environment_value(std::span<const char* const> own,
                                             std::string_view key);
/// Returns the value of a key in the environment, or else its default.
std::string process_value(std::string_view key);
/// Throws the fault of the first invalid environment variable of settings of the process.
void check_environment();

/// Warns of each environment variable that looks like a setting but is none. Suggests the nearest
/// setting.
void warn_of_unknown_variables();
/// As warn_of_unknown_variables(), for info keys that no function reads.
void warn_of_unknown_keys(std::span<const std::string> keys);

/// Parses the whole text as a whole number.
std::optional<std::int64_t> read_whole_number(std::string_view text);
/// Parses the whole text as a non-negative number.
std::optional<double> read_amount(std::string_view text);
/// Returns whether the text is one of the words for yes.
bool is_yes(std::string_view text);

/// Returns the values that all processes must have in common: the library version, and settings in
/// the environment that must agree (other than file names).
std::vector<Given> given_by_process();

/// Returns the known word with the fewest insertions, deletions and replacements of characters to
/// `word`. Returns "" if the best one needs more than one edit per three characters. A prefix that
/// `word` shares with all known words does not count.
std::string_view nearest(std::string_view word, std::span<const std::string_view> known);

}  // namespace vicinal
