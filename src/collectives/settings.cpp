// Reads each setting of calls into the member that holds it.
#include "collectives/settings.hpp"

#include <algorithm>
#include <array>
#include <map>

#include "base/guarded.hpp"
#include "base/log.hpp"
#include "base/no_destructor.hpp"
#include "base/setting.hpp"
#include "cost/profile_json.hpp"
#include "memory/device/device_memory.hpp"
#include "mpi/backoff.hpp"
#include "mpi/info.hpp"

namespace vicinal {

namespace {

std::int64_t number(const std::string& text) { return read_whole_number(text).value_or(0); }
std::string word(std::string_view text) { return std::string(text); }

/// The member that holds a setting of calls. Its text has been checked.
struct Member {
  std::string_view key;
  void (*read)(Settings& settings, const std::string& text);
  std::string (*text)(const Settings& settings);
  /// Checks a text of a special form before it is read.
  bool (*can_be)(const std::string& text) = nullptr;
};

constexpr std::array members = std::to_array<Member>({
    {"vicinal_regions", [](Settings& it, const std::string& text) { it.regions = text; },
     [](const Settings& it) { return it.regions; }},
    {"vicinal_strategy",
     [](Settings& it, const std::string& text) { it.strategy = find_planner(text).name; },
     [](const Settings& it) { return it.strategy; }},
    {"vicinal_allgather",
     [](Settings& it, const std::string& text) { it.allgather = find_planner(text).name; },
     [](const Settings& it) { return it.allgather; }},
    {"vicinal_exchange",
     [](Settings& it, const std::string& text) { it.exchange = method_of(text); },
     [](const Settings& it) { return word(name(it.exchange)); }},
    {"vicinal_local",
     [](Settings& it, const std::string& text) { it.options.shared_memory = text == "shared"; },
     [](const Settings& it) { return word(it.options.shared_memory ? "shared" : "messages"); }},
    {"vicinal_in_flight",
     [](Settings& it, const std::string& text) { it.in_flight = static_cast<int>(number(text)); },
     [](const Settings& it) { return std::to_string(it.in_flight); }},
    {"vicinal_progress",
     [](Settings& it, const std::string& text) { it.options.strict_progress = text == "strict"; },
     [](const Settings& it) { return word(it.options.strict_progress ? "strict" : "relaxed"); }},
    {"vicinal_split_bytes",
     [](Settings& it, const std::string& text) { it.options.split_bytes = number(text); },
     [](const Settings& it) { return std::to_string(it.options.split_bytes); }},
    {"vicinal_idle_ranks",
     [](Settings& it, const std::string& text) { it.options.idle_ranks_lead = text == "lead"; },
     [](const Settings& it) { return word(it.options.idle_ranks_lead ? "lead" : "rest"); }},
    {"vicinal_radix",
     [](Settings& it, const std::string& text) {
       it.options.radix = static_cast<int>(number(text));
     },
     [](const Settings& it) { return std::to_string(it.options.radix); },
     [](const std::string& text) {
       const auto radix = read_whole_number(text);
       return radix && (*radix == 0 || (*radix >= 2 && *radix <= 1 << 20));
     }},
    {"vicinal_device_way",
     [](Settings& it, const std::string& text) {
       it.options.device_transport = device_transport_called(text);
     },
     [](const Settings& it) {
       return word(it.options.device_transport ? it.options.device_transport->name : "automatic");
     }},
    {"vicinal_profile",
     [](Settings& it, const std::string& text) {
       it.options.profile = *profile_at(path_of("vicinal_profile", text));
     },
     [](const Settings& it) { return identity(it.options.profile); }},
    {"vicinal_choice",
     [](Settings& it, const std::string& text) { it.options.choice = choice_of(text); },
     [](const Settings& it) { return word(name(it.options.choice)); }},
    {"vicinal_plan_after",
     [](Settings& it, const std::string& text) {
       it.options.plan_after = static_cast<int>(number(text));
     },
     [](const Settings& it) { return std::to_string(it.options.plan_after); }},
    {"vicinal_bias",
     [](Settings& it, const std::string& text) { it.options.bias = *Bias::read(text); },
     [](const Settings& it) { return it.options.bias.text(); },
     [](const std::string& text) { return Bias::read(text).has_value(); }},
    {"vicinal_wisdom", [](Settings& it, const std::string& text) { it.options.wisdom = text; },
     [](const Settings& it) { return it.options.wisdom; }},
    {"vicinal_verify",
     [](Settings& it, const std::string& text) { it.options.verify = is_yes(text); },
     [](const Settings& it) { return word(it.options.verify ? "1" : "0"); }},
});

const Member& member(const Setting& row) {
  const auto found = std::find_if(members.begin(), members.end(),
                                  [&](const Member& it) { return it.key == row.key; });
  require(found != members.end(), Fault::internal, "the setting ", row.key, " is kept nowhere");
  return *found;
}

}  // namespace

ExchangeOptions exchange_options(const Settings& settings) {
  ExchangeOptions options(settings.exchange);
  options.regions = settings.regions;
  options.shared_memory = settings.options.shared_memory;
  options.profile = &settings.options.profile;
  return options;
}

std::vector<Given> given_settings(const Settings& settings, const std::string& regions) {
  std::vector<Given> given;
  for (const Setting& row : all_settings()) {
    if (row.scope != SettingScope::call || !row.alike) continue;
    const bool is_default = row.key == "vicinal_regions" && settings.regions.empty();
    given.push_back({std::string(row.key), is_default ? regions : member(row).text(settings)});
  }
  return given;
}

std::int64_t fingerprint(const Settings& settings, const std::string& regions) {
  if (!settings.given.empty()) return fingerprint(given_settings(settings, regions));
  // Usually no setting is given.
  static NoDestructor<std::map<std::string, std::int64_t>> standard;
  static Mutex mutex;
  const Lock lock(mutex);
  const auto found = standard->find(regions);
  if (found != standard->end()) return found->second;
  return standard->emplace(regions, fingerprint(given_settings(settings, regions))).first->second;
}

Settings read_settings(MPI_Info info, MPI_Comm comm) {
  if (const auto keys = mpi::info_keys(info, comm); !keys.empty()) {
    sign_log(mpi::world_rank());  // the log may not be open yet
    warn_of_unknown_keys(keys);
  }
  return read_settings(
      [info](const std::string& key) { return mpi::info_value(info, key.c_str()); });
}

Settings read_settings(
    const std::function<std::optional<std::string>(const std::string& key)>& given) {
  Settings settings;
  const std::vector<const char*> variables = own_variables();
  for (const Setting& row : all_settings()) {
    if (row.scope != SettingScope::call) continue;
    const std::string key(row.key);
    const auto in_environment = environment_value(variables, row.key);
    const auto text = in_environment ? in_environment : given(key);
    if (!text) continue;
    const std::string whose = in_environment ? variable_of(key) : key;
    check(row, whose, *text);
    const Member& kept = member(row);
    if (kept.can_be != nullptr && !kept.can_be(*text)) refuse(row, whose, *text);
    try {
      kept.read(settings, *text);
    } catch (const Error& error) {
      fail(error.fault(), whose, ": ", error.what());
    }
    settings.given.insert(row.key);
  }
  settings.options.on_device = settings.options.device_transport || device::first_used() != nullptr;
  return settings;
}

}  // namespace vicinal
