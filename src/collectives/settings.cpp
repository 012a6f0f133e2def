// Settings from the environment and from info keys: one line of a table for each.
#include "collectives/settings.hpp"

#include <array>
#include <charconv>

#include "base/setting_names.hpp"
#include "mpi/communicator.hpp"
#include "mpi/info.hpp"

namespace vicinal {

namespace {

Index whole_number(const std::string& key, const std::string& text, Index least, Index most) {
  Index value = 0;
  const char* end = text.data() + text.size();
  const auto [stopped, error] = std::from_chars(text.data(), end, value);
  require(error == std::errc() && stopped == end && value >= least && value <= most, Fault::info,
          key, " is '", text, "', but a whole number from ", least, " to ", most, " is expected");
  return value;
}

/// Whether the text is the first of the two words that are possible.
bool one_of_two(const std::string& key, const std::string& text, const char* yes, const char* no) {
  require(text == yes || text == no, Fault::info, key, " is '", text, "', but '", yes, "' or '", no,
          "' is expected");
  return text == yes;
}

struct Setting {
  std::string_view key;
  void (*read)(Settings& settings, const std::string& key, const std::string& text);
  std::string (*text)(const Settings& settings);
};

constexpr std::array<Setting, setting_keys.size()> table{{
    {"vicinal_regions",
     [](Settings& it, const std::string&, const std::string& text) { it.regions = text; },
     [](const Settings& it) { return it.regions; }},
    {"vicinal_strategy",
     [](Settings& it, const std::string&, const std::string& text) {
       it.strategy = find_planner(text).name;
     },
     [](const Settings& it) { return it.strategy; }},
    {"vicinal_allgather",
     [](Settings& it, const std::string&, const std::string& text) {
       it.allgather = find_planner(text).name;
     },
     [](const Settings& it) { return it.allgather; }},
    {"vicinal_exchange",
     [](Settings& it, const std::string&, const std::string& text) {
       it.exchange = method_of(text);
     },
     [](const Settings& it) { return std::string(name(it.exchange)); }},
    {"vicinal_local",
     [](Settings& it, const std::string& key, const std::string& text) {
       it.options.shared_memory = one_of_two(key, text, "shared", "messages");
     },
     [](const Settings& it) {
       return std::string(it.options.shared_memory ? "shared" : "messages");
     }},
    {"vicinal_in_flight",
     [](Settings& it, const std::string& key, const std::string& text) {
       it.in_flight = static_cast<int>(whole_number(key, text, 1, mpi::channels_per_plan));
     },
     [](const Settings& it) { return std::to_string(it.in_flight); }},
    {"vicinal_progress",
     [](Settings& it, const std::string& key, const std::string& text) {
       it.options.strict_progress = !one_of_two(key, text, "relaxed", "strict");
     },
     [](const Settings& it) {
       return std::string(it.options.strict_progress ? "strict" : "relaxed");
     }},
    {"vicinal_split_bytes",
     [](Settings& it, const std::string& key, const std::string& text) {
       it.options.split_bytes = whole_number(key, text, 1, Index{1} << 40);
     },
     [](const Settings& it) { return std::to_string(it.options.split_bytes); }},
    {"vicinal_leader_shift",
     [](Settings& it, const std::string& key, const std::string& text) {
       it.options.leader_shift = static_cast<int>(whole_number(key, text, 0, 1 << 20));
     },
     [](const Settings& it) { return std::to_string(it.options.leader_shift); }},
    {"vicinal_group_size",
     [](Settings& it, const std::string& key, const std::string& text) {
       it.options.group_size = static_cast<int>(whole_number(key, text, 0, 1 << 20));
     },
     [](const Settings& it) { return std::to_string(it.options.group_size); }},
    {"vicinal_verify",
     [](Settings& it, const std::string& key, const std::string& text) {
       it.options.verify = one_of_two(key, text, "1", "0");
     },
     [](const Settings& it) { return std::string(it.options.verify ? "1" : "0"); }},
}};

constexpr bool has_all_keys() {
  for (std::size_t i = 0; i < table.size(); ++i) {
    if (table[i].key != setting_keys[i]) return false;
  }
  return true;
}
static_assert(has_all_keys(), "the table has a line for each of setting_keys, in that order");

}  // namespace

ExchangeOptions exchange_options(const Settings& settings) {
  ExchangeOptions options(settings.exchange);
  options.regions = settings.regions;
  options.shared_memory = settings.options.shared_memory;
  return options;
}

std::vector<Given> given_settings(const Settings& settings, const std::string& regions) {
  std::vector<Given> given;
  for (const Setting& setting : table) {
    given.push_back({std::string(setting.key), setting.text(settings)});
  }
  if (settings.regions.empty()) given.front().value = regions;
  return given;
}

Settings read_settings(MPI_Info info) {
  return read_settings(
      [info](const std::string& key) { return mpi::info_value(info, key.c_str()); });
}

Settings read_settings(
    const std::function<std::optional<std::string>(const std::string& key)>& given) {
  Settings settings;
  for (const Setting& setting : table) {
    const std::string key(setting.key);
    auto text = environment_value(key);
    if (!text) text = given(key);
    if (text) setting.read(settings, key, *text);
  }
  return settings;
}

}  // namespace vicinal
