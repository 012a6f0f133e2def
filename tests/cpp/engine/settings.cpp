// Settings as they are read: what holds where nothing is given, and who is named where something is wrong.
#include "collectives/settings.hpp"

#include <cstdlib>
#include <string>

#include "base/setting.hpp"
#include "check.hpp"

namespace vicinal {
namespace {

std::optional<std::string> nothing(const std::string&) { return std::nullopt; }

}  // namespace

TEST(settings_not_given_are_those_of_the_table) {
  const std::vector<Given> given = given_settings(Settings{}, "node");
  std::size_t of_calls = 0;
  for (const Setting& row : all_settings()) {
    if (row.scope != SettingScope::call) continue;
    CHECK_EQUAL(given.at(of_calls).name, std::string(row.key));
    CHECK_EQUAL(given.at(of_calls).value.value_or(""), std::string(row.standard));
    ++of_calls;
  }
  CHECK_EQUAL(given.size(), of_calls);
}

TEST(settings_given_are_read_and_remembered) {
  for (const Setting& row : all_settings()) {
    if (row.scope != SettingScope::call || environment_value(row.key)) continue;
    const bool words = row.form == SettingForm::words;
    const bool factors = row.key == "vicinal_bias";
    const std::string text(words ? row.values.substr(row.values.rfind(' ') + 1)
                           : row.form == SettingForm::whole_number ? "7"
                           : factors                               ? "direct:0.5,ring:3"
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
    if (row.form == SettingForm::special && !factors) continue;
    CHECK_THROWS(Fault::info, read_settings(wrong),
                 std::string(row.key) + " is 'fastest', but " + expected(row) + " is expected");
  }
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

}  // namespace vicinal
