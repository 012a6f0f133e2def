// Settings in the environment.
#include "base/setting_names.hpp"

#include <algorithm>
#include <cctype>
#include <cstdlib>

namespace vicinal {

std::string variable_of(std::string_view key) {
  std::string variable(key);
  std::transform(variable.begin(), variable.end(), variable.begin(),
                 [](unsigned char letter) { return static_cast<char>(std::toupper(letter)); });
  return variable;
}

std::optional<std::string> environment_value(std::string_view key) {
  const char* text = std::getenv(variable_of(key).c_str());
  if (text == nullptr || *text == '\0') return std::nullopt;
  return std::string(text);
}

std::vector<Given> given_by_process() {
  std::vector<Given> given;
  given.push_back({"the version of vicinal", VICINAL_VERSION_STRING});
  for (const std::string_view key : setting_keys) {
    given.push_back({variable_of(key), environment_value(key)});
  }
  constexpr std::string_view thread = "vicinal_progress_thread";
  given.push_back({variable_of(thread), environment_value(thread)});
  return given;
}

}  // namespace vicinal
