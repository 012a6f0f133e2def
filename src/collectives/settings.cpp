// Settings from the environment and from info keys.
#include "collectives/settings.hpp"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cstdlib>

#include "mpi/communicator.hpp"
#include "mpi/info.hpp"

namespace vicinal {

namespace {

std::optional<std::string> environment(const std::string& key) {
  std::string variable = key;
  std::transform(variable.begin(), variable.end(), variable.begin(),
                 [](unsigned char letter) { return static_cast<char>(std::toupper(letter)); });
  const char* text = std::getenv(variable.c_str());
  if (text == nullptr || *text == '\0') return std::nullopt;
  return std::string(text);
}

Index whole_number(const std::string& key, const std::string& text, Index least, Index most) {
  Index value = 0;
  const char* end = text.data() + text.size();
  const auto [stopped, error] = std::from_chars(text.data(), end, value);
  require(error == std::errc() && stopped == end && value >= least && value <= most, Fault::info,
          key, " is '", text, "', but a whole number from ", least, " to ", most, " is expected");
  return value;
}

}  // namespace

ExchangeOptions exchange_options(const Settings& settings) {
  ExchangeOptions options(settings.exchange);
  options.regions = settings.regions;
  options.shared_memory = settings.options.shared_memory;
  return options;
}

Settings read_settings(MPI_Info info) {
  return read_settings(
      [info](const std::string& key) { return mpi::info_value(info, key.c_str()); });
}

Settings read_settings(
    const std::function<std::optional<std::string>(const std::string& key)>& given) {
  const auto setting = [&given](const std::string& key) {
    const auto forced = environment(key);
    return forced ? forced : given(key);
  };
  Settings settings;
  if (const auto text = setting("vicinal_regions")) settings.regions = *text;
  if (const auto text = setting("vicinal_strategy")) settings.strategy = *text;
  find_planner(settings.strategy);
  if (const auto text = setting("vicinal_allgather")) settings.allgather = *text;
  find_planner(settings.allgather);
  if (const auto text = setting("vicinal_local")) {
    require(*text == "shared" || *text == "messages", Fault::info, "vicinal_local is '", *text,
            "', but 'shared' or 'messages' is expected");
    settings.options.shared_memory = *text == "shared";
  }
  if (const auto text = setting("vicinal_exchange")) settings.exchange = method_of(*text);
  if (const auto text = setting("vicinal_split_bytes")) {
    settings.options.split_bytes = whole_number("vicinal_split_bytes", *text, 1, Index{1} << 40);
  }
  if (const auto text = setting("vicinal_leader_shift")) {
    settings.options.leader_shift =
        static_cast<int>(whole_number("vicinal_leader_shift", *text, 0, 1 << 20));
  }
  if (const auto text = setting("vicinal_group_size")) {
    settings.options.group_size =
        static_cast<int>(whole_number("vicinal_group_size", *text, 0, 1 << 20));
  }
  if (const auto text = setting("vicinal_in_flight")) {
    settings.in_flight =
        static_cast<int>(whole_number("vicinal_in_flight", *text, 1, mpi::channels_per_plan));
  }
  return settings;
}

}  // namespace vicinal
