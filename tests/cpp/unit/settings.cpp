// Tests the table of settings: the accepted values of each row, and that the public header
// documents them.
#include "base/setting.hpp"

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>

#include "check.hpp"
#include "cost/exchange_method.hpp"
#include "negotiate/planner.hpp"

namespace vicinal::settings_tests {
namespace {

/// Sets an environment variable during its lifetime.
class Variable {
 public:
  Variable(std::string name, const std::string& value) : name_(std::move(name)) {
    if (const char* before = std::getenv(name_.c_str())) before_ = before;
    setenv(name_.c_str(), value.c_str(), 1);
  }
  Variable(const Variable&) = delete;
  Variable& operator=(const Variable&) = delete;
  ~Variable() { setenv(name_.c_str(), before_.c_str(), 1); }

 private:
  std::string name_;
  std::string before_;
};

/// Returns the header's first comment in one line, without its stars.
std::string header_text() {
  std::ifstream file(VICINAL_HEADER);
  CHECK(file.good());
  std::string text, word;
  while (file >> word && word != "*/") {
    if (word == "*") continue;
    text += text.empty() ? "" : " ";
    text += word;
  }
  return text;
}

std::vector<std::string> words_of(std::string_view values) {
  std::istringstream in{std::string(values)};
  std::vector<std::string> words;
  for (std::string word; in >> word;) words.push_back(word);
  return words;
}

bool accepts(const Setting& row, const std::string& text) {
  try {
    check(row, row.key, text);
  } catch (const Error&) {
    return false;
  }
  return true;
}

}  // namespace

TEST(settings_are_named_once) {
  std::set<std::string> variables;
  for (const Setting& row : all_settings()) {
    const std::string variable = variable_of(row.key);
    CHECK(row.key.starts_with("vicinal_") && variable.starts_with("VICINAL_"));
    CHECK(std::none_of(variable.begin(), variable.end(),
                       [](unsigned char letter) { return std::islower(letter) != 0; }));
    CHECK(variables.insert(variable).second);
    CHECK_EQUAL(&setting(row.key), &row);
    CHECK(!row.meaning.empty() && !expected(row).empty());
  }
  CHECK_EQUAL(variable_of("vicinal_split_bytes"), std::string("VICINAL_SPLIT_BYTES"));
  CHECK_THROWS(Fault::internal, setting("vicinal_speed"), "vicinal_speed");
}

TEST(settings_accept_what_they_say) {
  for (const Setting& row : all_settings()) {
    if (!row.standard.empty()) CHECK(accepts(row, std::string(row.standard)));
    if (row.form == SettingForm::words) {
      for (const std::string& word : words_of(row.values)) CHECK(accepts(row, word));
    } else if (row.form == SettingForm::whole_number) {
      CHECK(accepts(row, std::to_string(row.least)));
      CHECK(accepts(row, std::to_string(row.largest)));
      CHECK(!accepts(row, std::to_string(row.least - 1)));
      CHECK(!accepts(row, std::to_string(row.largest + 1)));
    } else if (row.form == SettingForm::amount) {
      CHECK(accepts(row, "0") && accepts(row, "0.5") && !accepts(row, "-1") &&
            !accepts(row, "nan"));
    }
  }
}

TEST(settings_refuse_everything_else_in_one_form) {
  for (const Setting& row : all_settings()) {
    if (row.form == SettingForm::special) continue;  // tested with the code that uses them
    for (const std::string wrong : {"", "fastest", "7 ", " 7", "1e", "-"}) {
      CHECK_THROWS(Fault::info, check(row, "NAME", wrong),
                   "NAME is '" + wrong + "', but " + expected(row) + " is expected");
    }
  }
  CHECK_EQUAL(expected(setting("vicinal_local")), std::string("'shared' or 'messages'"));
  CHECK_EQUAL(expected(setting("vicinal_in_flight")), std::string("a whole number from 1 to 8"));
}

TEST(settings_that_are_nearly_right_say_which_was_meant) {
  const Setting& strategy = setting("vicinal_strategy");
  CHECK_THROWS(Fault::info, check(strategy, "NAME", "agregate"), "; did you mean 'aggregate'?");
  CHECK_THROWS(Fault::info, check(strategy, "NAME", "Direct"), "; did you mean 'direct'?");
  try {
    check(strategy, "NAME", "pigeons");
  } catch (const Error& error) {
    CHECK(std::string(error.what()).ends_with("is expected"));
  }
  const std::string_view known[] = {"VICINAL_STRATEGY", "VICINAL_LOG", "VICINAL_LOCAL"};
  CHECK_EQUAL(nearest("VICINAL_STRATGY", known), "VICINAL_STRATEGY");
  CHECK_EQUAL(nearest("VICINAL_LOCALS", known), "VICINAL_LOCAL");
  CHECK_EQUAL(nearest("VICINAL_SPEED", known), "");
  CHECK_EQUAL(nearest("", known), "");
}

TEST(settings_of_the_process_are_read_from_the_environment) {
  for (const Setting& row : all_settings()) {
    if (row.scope != SettingScope::process || row.form == SettingForm::special) continue;
    const std::string name = variable_of(row.key);
    {
      const Variable none(name, "");
      check_environment();
      CHECK_EQUAL(process_value(row.key), std::string(row.standard));
    }
    const Variable wrong(name, "fastest");
    CHECK_THROWS(Fault::info, check_environment(), name + " is 'fastest', but " + expected(row));
  }
  const Variable of_a_call("VICINAL_IN_FLIGHT", "many");
  check_environment();  // this one may also be an info key, and is checked with that
  CHECK_EQUAL(environment_value("vicinal_in_flight").value_or(""), std::string("many"));
}

TEST(settings_name_files_from_where_the_process_began) {
  const std::filesystem::path began = std::filesystem::current_path();
  const Variable variable("VICINAL_WISDOM", "kept/wisdom");
  std::filesystem::current_path("/");
  CHECK_EQUAL(path_of("vicinal_wisdom", "kept/wisdom"), (began / "kept/wisdom").string());
  CHECK_EQUAL(path_of("vicinal_wisdom", "the program's"), std::string("the program's"));
  CHECK_EQUAL(from_start("/elsewhere"), std::string("/elsewhere"));
  std::filesystem::current_path(began);
}

TEST(settings_that_must_be_alike_are_compared) {
  const std::vector<Given> given = given_by_process();
  for (const Setting& row : all_settings()) {
    const bool compared = std::any_of(given.begin(), given.end(), [&](const Given& each) {
      return each.name == variable_of(row.key);
    });
    CHECK_EQUAL(compared, row.alike && !row.is_path);
    if (row.scope == SettingScope::call) CHECK(row.alike);  // as the header states
  }
}

TEST(settings_name_all_planners_and_methods) {
  for (const char* key : {"vicinal_strategy", "vicinal_allgather"}) {
    const auto words = words_of(setting(key).values);
    CHECK_EQUAL(words.size(), planners().size());
    for (const std::string& word : words) CHECK_EQUAL(find_planner(word).name, word);
  }
  for (const std::string& word : words_of(setting("vicinal_exchange").values)) {
    CHECK_EQUAL(name(method_of(word)), word);
  }
}

TEST(settings_stand_in_the_header_as_in_the_table) {
  const std::string header = header_text();
  for (const Setting& row : all_settings()) {
    if (header.find(described(row)) == std::string::npos) {
      testing::fail_check(__FILE__, __LINE__, "the header lacks \"", described(row), '"');
    }
  }
}

}  // namespace vicinal::settings_tests
