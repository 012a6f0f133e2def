// The table of settings, and the functions that use it. Suggestions follow the Levenshtein
// distance, computed row by row.
#include "base/setting.hpp"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstddef>
#include <filesystem>
#include <numeric>
#include <sstream>
#include <system_error>
#include <utility>
#include <vector>

#include "base/error.hpp"
#include "base/log.hpp"
#include "base/no_destructor.hpp"
#include "base/planner_list.hpp"

namespace vicinal {

namespace {

using Form = SettingForm;
using Scope = SettingScope;

#define VICINAL_NAME(identifier, name) " " name
constexpr std::string_view planner_names =
    std::string_view(VICINAL_PLANNERS(VICINAL_NAME)).substr(1);
#undef VICINAL_NAME

constexpr std::array table = std::to_array<Setting>({
    // For everybody:
    {"vicinal_strategy", "automatic", "the planner", Form::words, planner_names},
    {"vicinal_regions", "node", "groups of near ranks", Form::special,
     "'node', 'numa', 'blocks:K', 'round-robin:N', 'list:L0,L1,...' (a label for each rank), or "
     "two of these as 'OUTER/INNER'"},
    {"vicinal_allgather", "automatic", "the planner of allgathers over all ranks", Form::words,
     planner_names},
    {"vicinal_exchange", "automatic", "the method of sparse exchanges", Form::words,
     "automatic personalized nonblocking locality locality-personalized one-sided"},
    {"vicinal_choice", "adaptive", "how 'automatic' decides", Form::words,
     "adaptive estimate measure"},
    {"vicinal_progress", "relaxed", "when leaders relay messages of other ranks", Form::words,
     "relaxed strict"},
    {"vicinal_profile", "", "costs of the machine, by which plans are chosen", Form::special,
     "the name of a file as 'vicinal calibrate' writes it", 0, 0, Scope::call, true, true},
    {"vicinal_wisdom", "", "file that keeps measured results", Form::special, "the path of a file"},
    // For experts:
    {"vicinal_local", "shared", "transport between ranks of a host, by shared memory or messages",
     Form::words, "shared messages"},
    {"vicinal_in_flight", "4", "number of executions of a plan that may be in flight",
     Form::whole_number, "", 1, most_in_flight},
    {"vicinal_split_bytes", "65536",
     "bytes of a region pair for each of which 'split' and 'automatic' use a leader, or 0: as many "
     "leaders as a cost model finds best",
     Form::whole_number, "", 0, std::int64_t{1} << 40},
    {"vicinal_idle_ranks", "rest",
     "whether ranks without edges participate in exchanges, and may lead for their region",
     Form::words, "rest lead"},
    {"vicinal_radix", "0",
     "radix with which 'tuna', 'tuna-hierarchical' and 'cascade' store and forward, or 0: the one "
     "that a cost model finds best",
     Form::special, "0, or a whole number from 2 to 1048576"},
    {"vicinal_device_way", "automatic", "transport of data in GPU memory", Form::words,
     "automatic staged direct shared direct-shared lent direct-lent"},
    {"vicinal_plan_after", "8",
     "number of calls of a loop after which a plan serves them, and of executions after which "
     "further plans are made and compared",
     Form::whole_number, "", 1, 1 << 30},
    {"vicinal_bias", "", "factors on the costs of planners in a choice", Form::special,
     "a list as 'direct:0.8,aggregate:1.2', planners with positive factors"},
    {"vicinal_verify", "0", "whether all ranks of an exchange prove each new plan together",
     Form::words, "1 0"},
    // Of the process:
    {"vicinal_report_waits", "30", "time after which a waiting rank reports for whom it waits",
     Form::amount, "a number of seconds, or 0 for never", 0, 0, Scope::process, false},
    {"vicinal_shared_memory", "1", "whether ranks of a host share memory at all", Form::words,
     "1 0", 0, 0, Scope::process, false},
    {"vicinal_cores", "", "number of cores that the ranks of a host share", Form::amount,
     "a number, or 0 where each has one of its own", 0, 0, Scope::process, false},
    {"vicinal_progress_thread", "0", "whether a thread of the library progresses exchanges",
     Form::words, "1 yes on true 0 no off false", 0, 0, Scope::process},
    {"vicinal_dump_signal", "", "signal on which a rank prints what it waits for", Form::special,
     "the number of a signal that can be caught", 0, 0, Scope::process, false},
    {"vicinal_log", "warn", "messages about plans and settings that are logged, and where",
     Form::special, "'warn', 'info' or 'debug', or one of these with a file as 'info:FILE'", 0, 0,
     Scope::process, false},
    {"vicinal_device_driver", "automatic", "driver by which GPU memory is found and moved",
     Form::special, "'automatic', 'none', or the path of a driver's library", 0, 0, Scope::process,
     false},
    {"vicinal_report", "", "file in which the preload library reports on a program's exchanges",
     Form::special, "the name of a file", 0, 0, Scope::process, false},
});

/// The working directory at load time; empty if it is unknown.
NoDestructor<std::string> start_folder([] {
  std::error_code error;
  return std::filesystem::current_path(error).string();
}());
/// Variables that are not settings: those of the build, the tests and the Python package.
/// Environment modules set the last group, to tell where a library is installed.
constexpr std::string_view other_variables =
    "VICINAL_BUILD_DIR VICINAL_DATA VICINAL_MPI VICINAL_MPIEXEC_ARGS VICINAL_PYTHON "
    "VICINAL_SANITIZE VICINAL_TESTS VICINAL_UNITY VICINAL_WERROR "
    "VICINAL_BASE VICINAL_DIR VICINAL_HOME VICINAL_INC VICINAL_INCLUDE VICINAL_LIB VICINAL_PATH "
    "VICINAL_PREFIX VICINAL_ROOT VICINAL_VERSION";
constexpr std::string_view test_variables = "VICINAL_TEST_";
constexpr std::string_view variable_prefix = "VICINAL_";

char upper(char letter) {
  return letter >= 'a' && letter <= 'z' ? static_cast<char>(letter - 'a' + 'A') : letter;
}

std::vector<std::string_view> words_of(std::string_view text) {
  std::vector<std::string_view> words;
  while (!text.empty()) {
    const std::size_t space = std::min(text.find(' '), text.size());
    words.push_back(text.substr(0, space));
    text.remove_prefix(std::min(space + 1, text.size()));
  }
  return words;
}

template <class Number>
std::optional<Number> read_number(std::string_view text) {
  Number value = 0;
  const char* end = text.data() + text.size();
  const auto [stopped, error] = std::from_chars(text.data(), end, value);
  if (error != std::errc() || stopped != end) return std::nullopt;
  return value;
}

bool can_be(const Setting& setting, std::string_view text) {
  switch (setting.form) {
    case Form::words: {
      const auto words = words_of(setting.values);
      return std::find(words.begin(), words.end(), text) != words.end();
    }
    case Form::whole_number: {
      const auto number = read_whole_number(text);
      return number && *number >= setting.least && *number <= setting.largest;
    }
    case Form::amount: return read_amount(text).has_value();
    case Form::special: return true;
  }
  return false;
}

std::size_t distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), std::size_t{0});
  for (std::size_t i = 0; i < a.size(); ++i) {
    std::size_t diagonal = std::exchange(row[0], i + 1);
    for (std::size_t j = 0; j < b.size(); ++j) {
      const std::size_t replaced = diagonal + (a[i] == b[j] ? 0 : 1);
      diagonal = row[j + 1];
      row[j + 1] = std::min({replaced, row[j] + 1, row[j + 1] + 1});
    }
  }
  return row.back();
}

}  // namespace

std::span<const Setting> all_settings() { return table; }

const Setting& setting(std::string_view key) {
  const auto found =
      std::find_if(table.begin(), table.end(), [&](const Setting& it) { return it.key == key; });
  require(found != table.end(), Fault::internal, "there is no setting ", key);
  return *found;
}

std::string expected(const Setting& setting) {
  if (setting.form == Form::whole_number) {
    return "a whole number from " + std::to_string(setting.least) + " to " +
           std::to_string(setting.largest);
  }
  if (setting.form != Form::words) return std::string(setting.values);
  const auto words = words_of(setting.values);
  std::ostringstream text;
  for (std::size_t i = 0; i < words.size(); ++i) {
    text << (i == 0 ? "'" : i + 1 == words.size() ? " or '" : ", '") << words[i] << '\'';
  }
  return text.str();
}

std::string described(const Setting& setting) {
  std::ostringstream text;
  text << (setting.scope == Scope::call ? std::string(setting.key) : variable_of(setting.key))
       << ' ' << setting.meaning << ": " << expected(setting);
  if (setting.standard.empty()) {
    text << " (none by default)";
  } else {
    text << " (default '" << setting.standard << "')";
  }
  return text.str();
}

void refuse(const Setting& setting, std::string_view name, std::string_view text) {
  std::string_view meant;
  if (setting.form == Form::words) meant = nearest(text, words_of(setting.values));
  fail(Fault::info, name, " is '", text, "', but ", expected(setting), " is expected",
       meant.empty() ? "" : "; did you mean '", meant, meant.empty() ? "" : "'?");
}

void check(const Setting& setting, std::string_view name, std::string_view text) {
  if (!can_be(setting, text)) refuse(setting, name, text);
}

std::string variable_of(std::string_view key) {
  std::string variable(key);
  std::transform(variable.begin(), variable.end(), variable.begin(), upper);
  return variable;
}

std::string from_start(const std::string& path) {
  const bool stays = path.empty() || path.front() == '/' || start_folder->empty();
  return stays ? path : *start_folder + '/' + path;
}

std::string path_of(std::string_view key, const std::string& path) {
  return environment_value(key) == path ? from_start(path) : path;
}

std::optional<std::string> environment_value(std::string_view key) {
  return environment_value(own_variables(), key);
}

std::vector<const char*> own_variables() {
  std::vector<const char*> own;
  for (char** variable = environ; variable != nullptr && *variable != nullptr; ++variable) {
    if (std::string_view(*variable).starts_with(variable_prefix)) own.push_back(*variable);
  }
  return own;
}

std::optional<std::string> environment_value(std::span<const char* const> own,
                                             std::string_view key) {
  for (const std::string_view variable : own) {
    const bool is_it = variable.size() > key.size() + 1 && variable[key.size()] == '=' &&
                       std::ranges::equal(key, variable.substr(0, key.size()), {}, upper);
    if (is_it) return std::string(variable.substr(key.size() + 1));
  }
  return std::nullopt;
}

std::string process_value(std::string_view key) {
  return environment_value(key).value_or(std::string(setting(key).standard));
}

void check_environment() {
  for (const Setting& row : table) {
    if (row.scope != Scope::process) continue;
    if (const auto text = environment_value(row.key)) check(row, variable_of(row.key), *text);
  }
}

namespace {

void warn_of_unknown_name(std::string_view what, std::string_view name,
                          std::span<const std::string> known) {
  const std::string_view meant =
      nearest(name, std::vector<std::string_view>(known.begin(), known.end()));
  if (meant.empty()) {
    warn_once(what, ' ', name, " is no setting of vicinal and has no effect");
  } else {
    warn_once(what, ' ', name, " is no setting of vicinal and has no effect; did you mean ", meant,
              '?');
  }
}

}  // namespace

void warn_of_unknown_variables() {
  std::vector<std::string> known;
  for (const Setting& row : table) known.push_back(variable_of(row.key));
  const auto others = words_of(other_variables);
  for (const std::string_view text : own_variables()) {
    const std::string_view name = text.substr(0, text.find('='));
    if (name.starts_with(test_variables)) continue;
    if (std::find(known.begin(), known.end(), name) != known.end()) continue;
    if (std::find(others.begin(), others.end(), name) != others.end()) continue;
    warn_of_unknown_name("the environment variable", name, known);
  }
}

void warn_of_unknown_keys(std::span<const std::string> keys) {
  std::vector<std::string> known;
  for (const Setting& row : table) {
    if (row.scope == Scope::call) known.emplace_back(row.key);
  }
  for (const std::string& key : keys) {
    if (!key.starts_with("vicinal_")) continue;
    if (std::find(known.begin(), known.end(), key) != known.end()) continue;
    const auto of_process = std::find_if(table.begin(), table.end(),
                                         [&](const Setting& row) { return row.key == key; });
    if (of_process == table.end()) {
      warn_of_unknown_name("the info key", key, known);
    } else {
      warn_once("the info key ", key, " has no effect; set the environment variable ",
                variable_of(key));
    }
  }
}

std::optional<std::int64_t> read_whole_number(std::string_view text) {
  return read_number<std::int64_t>(text);
}

std::optional<double> read_amount(std::string_view text) {
  const auto value = read_number<double>(text);
  return value && *value >= 0 ? value : std::nullopt;
}

bool is_yes(std::string_view text) {
  return text == "1" || text == "yes" || text == "on" || text == "true";
}

std::vector<Given> given_by_process() {
  std::vector<Given> given;
  given.push_back({"the version of vicinal", VICINAL_VERSION_STRING});
  for (const Setting& row : table) {
    if (row.alike && !row.is_path)
      given.push_back({variable_of(row.key), environment_value(row.key)});
  }
  return given;
}

std::string_view nearest(std::string_view word, std::span<const std::string_view> known) {
  std::size_t shared = word.size();
  for (const std::string_view each : known) {
    const auto ends = std::mismatch(word.begin(), word.end(), each.begin(), each.end());
    shared = std::min(shared, static_cast<std::size_t>(ends.first - word.begin()));
  }
  word.remove_prefix(shared);
  std::string_view found;
  std::size_t least = word.size() / 3 + 1;
  for (const std::string_view each : known) {
    const std::size_t its = distance(word, each.substr(shared));
    if (its >= least) continue;
    least = its;
    found = each;
  }
  return found;
}

}  // namespace vicinal
