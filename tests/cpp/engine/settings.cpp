// Reading of settings: the defaults, and the key or variable that an error names.
#include "collectives/settings.hpp"

#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

#include "base/setting.hpp"
#include "check.hpp"
#include "cost/profile_json.hpp"

namespace vicinal::settings_tests {
namespace {

std::optional<std::string> nothing(const std::string&) { return std::nullopt; }

}  // namespace

TEST(settings_not_given_are_those_of_the_table) {
  const std::vector<Given> given = given_settings(Settings{}, "node");
  std::size_t of_calls = 0;
  for (const Setting& row : all_settings()) {
    if (row.scope != SettingScope::call) continue;
    CHECK_EQUAL(given.at(of_calls).name, std::string(row.key));
    // Of a file, ranks compare the contents; without a file, those of the default.
    CHECK_EQUAL(given.at(of_calls).value.value_or(""),
                row.is_path ? identity(default_profile()) : std::string(row.standard));
    ++of_calls;
  }
  CHECK_EQUAL(given.size(), of_calls);
}

TEST(settings_given_are_read_and_remembered) {
  for (const Setting& row : all_settings()) {
    if (row.scope != SettingScope::call || environment_value(row.key)) continue;
    if (row.is_path) continue;  // tested below
    const bool words = row.form == SettingForm::words;
    const bool factors = row.key == "vicinal_bias";
    const bool number = row.form == SettingForm::whole_number || row.key == "vicinal_radix";
    const std::string text(words     ? row.values.substr(row.values.rfind(' ') + 1)
                           : number  ? "7"
                           : factors ? "direct:0.5,ring:3"
                                     : "blocks:3");
    const auto only_this = [&](const std::string& key) {
      return key == row.key ? std::optional(text) : std::nullopt;
    };
    const Settings settings = read_settings(only_this);
    CHECK(settings.given.contains(row.key));
    for (const Given& each : given_settings(settings, "node")) {
      if (each.name == row.key) CHECK_EQUAL(each.value.value_or(""), text);
    }
    const auto wrong = [&](const std::string& key) {
      return key == row.key ? std::optional<std::string>("fastest") : std::nullopt;
    };
    if (!words && !number && !factors) continue;
    CHECK_THROWS(Fault::info, read_settings(wrong),
                 std::string(row.key) + " is 'fastest', but " + expected(row) + " is expected");
  }
}

TEST(a_radix_of_one_is_none) {
  if (environment_value("vicinal_radix")) testing::skip("needs no VICINAL_RADIX");
  for (const char* text : {"1", "-2", "1048577", "2.5", ""}) {
    const auto given = [&](const std::string& key) {
      return key == "vicinal_radix" ? std::optional<std::string>(text) : std::nullopt;
    };
    CHECK_THROWS(Fault::info, read_settings(given),
                 std::string("vicinal_radix is '") + text +
                     "', but 0, or a whole number from 2 to 1048576 is expected");
  }
  CHECK_EQUAL(read_settings(nothing).options.radix, 0);
}

TEST(profiles_are_read_from_the_file_that_is_named) {
  if (environment_value("vicinal_profile")) testing::skip("needs no VICINAL_PROFILE");
  const std::filesystem::path file =
      std::filesystem::temp_directory_path() / ("vicinal-settings-" + std::to_string(getpid()));
  Profile profile = default_profile();
  profile.name = "another";
  std::ofstream(file) << write_profile(profile);
  const auto given = [&](const std::string& key) {
    return key == "vicinal_profile" ? std::optional(file.string()) : std::nullopt;
  };
  CHECK(read_settings(given).options.profile == profile);
  CHECK(read_settings(nothing).options.profile == default_profile());
  std::filesystem::remove(file);
  const std::string none = file.string() + ".none";
  setenv("VICINAL_PROFILE", none.c_str(), 1);
  CHECK_THROWS(Fault::info, read_settings(given),
               "VICINAL_PROFILE: profile '" + none + "' cannot be read: No such file");
  unsetenv("VICINAL_PROFILE");
}

TEST(settings_of_the_environment_are_named_by_their_variable) {
  if (environment_value("vicinal_local")) testing::skip("needs VICINAL_LOCAL not to be set");
  setenv("VICINAL_LOCAL", "pigeons", 1);
  CHECK_THROWS(Fault::info, read_settings(nothing), "VICINAL_LOCAL is 'pigeons', but 'shared'");
  setenv("VICINAL_LOCAL", "messages", 1);
  CHECK(!read_settings(nothing).options.shared_memory);
  unsetenv("VICINAL_LOCAL");
  CHECK(read_settings(nothing).options.shared_memory);
}

}  // namespace vicinal::settings_tests
